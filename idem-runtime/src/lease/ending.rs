//! Ending an attempt: one write under the fence, tried until it is known what became of it.

use std::sync::Arc;
use std::time::Duration;

use sqlx::Pool;
use tokio::time::{Instant, sleep, timeout_at};

use super::attempt::Attempt;
use super::heartbeats::Heartbeats;
use crate::engine::RESOLVE_WITHIN;
use crate::engine::answer::Answer;
use crate::engine::contract::Contract;
use crate::engine::request::Request;
use crate::error::Error;
use crate::outcome::Change;
use crate::policy::{Lease, OnLapse};
use crate::store::lease::{LeaseBackend, Write};
use crate::store::leased::write_fenced;
use crate::store::{Ask, CommitError};

/// An attempt's hold on its record.
pub(super) struct Holder<DB: LeaseBackend> {
    pub(super) pool: Pool<DB>,
    pub(super) heartbeats: Arc<Heartbeats<DB>>,
    pub(super) ask: Ask,
    pub(super) lease: Lease,
    /// Of what it ends in, in microseconds.
    pub(super) retention: i64,
}

impl<DB: LeaseBackend> Holder<DB> {
    /// One write, on a connection that is closed unless it is known to be as it was.
    async fn write(&self, write: &Write<'_>) -> Result<(), CommitError> {
        let lent = self.heartbeats.ending().await;
        let mut lent = lent.map_err(CommitError::RolledBack)?;
        let done = write_fenced(&mut *lent.conn, &self.ask, write).await;
        let is_clean = matches!(
            done,
            Ok(()) | Err(CommitError::RolledBack(Error::LeaseLost))
        );
        lent.give_back(is_clean).await;
        done
    }

    /// The same until it is done or lost, for as long as the lease is surely ours, and at least for
    /// [`RESOLVE_WITHIN`]; heartbeats go on meanwhile. A lost answer is found out by writing again: what stands there already, by
    /// this attempt and to the byte, is done.
    async fn persist(&self, attempt: &Attempt, write: &Write<'_>) -> Result<(), Error> {
        // Once: signs of life that still go through must not move it for ever.
        let deadline = (Instant::now() + RESOLVE_WITHIN).max(attempt.life().until);
        let mut lost = None;
        let mut pause = Duration::from_millis(2);
        loop {
            let failed = match timeout_at(deadline, self.write(write)).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(CommitError::RolledBack(error))) => {
                    // A connection that was inside a transaction is closed: the next may be fit.
                    let unfit = matches!(error, Error::AlreadyInTransaction);
                    let lost = matches!(error, Error::LeaseLost);
                    if lost || !(unfit || error.is_retryable()) {
                        return Err(error);
                    }
                    error
                }
                Ok(Err(CommitError::Ambiguous(error))) => match lost.replace(error) {
                    None => continue,
                    Some(before) => Error::CommitUnknown(before.into()),
                },
                Err(_) => Error::Unavailable(sqlx::Error::PoolTimedOut.into()),
            };
            // A pool that is closed answers at once, however late it is.
            if Instant::now() >= deadline || self.heartbeats.is_closed() {
                return Err(lost.map_or(failed, |lost| Error::CommitUnknown(lost.into())));
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(1));
        }
    }

    /// What the body's result is recorded as, and what its caller gets.
    pub(super) async fn end<T, E>(
        &self,
        request: &Request,
        attempt: &Attempt,
        result: Result<T, E>,
        contract: &Contract<T, E>,
    ) -> Answer<T, E> {
        let own = |change| Write::own(change, self.ask.attempt_id, self.retention);
        match result {
            Ok(value) => {
                let (bytes, value) = match contract.encode(request.name(), &value) {
                    Ok(encoded) => encoded,
                    Err(refusal) => return self.doubt(attempt, refusal).await,
                };
                let write = Write {
                    result: Some(&bytes),
                    ..own(Change::Complete)
                };
                match self.persist(attempt, &write).await {
                    Ok(()) => Answer::Executed(value),
                    Err(error) => self.unrecorded(attempt, error).await,
                }
            }
            Err(error) => {
                let Some(encoded) = contract.encode_failure(request.name(), &error) else {
                    let change = if attempt.is_in_doubt() {
                        Change::Doubt
                    } else {
                        Change::Release
                    };
                    // If it cannot be written the lease lapses; the body's own error stands.
                    let _ = self.persist(attempt, &own(change)).await;
                    return Answer::Failed(error);
                };
                let (bytes, error) = match encoded {
                    Ok(encoded) => encoded,
                    Err(refusal) => return self.doubt(attempt, refusal).await,
                };
                let write = Write {
                    failure: Some(&bytes),
                    ..own(Change::Fail)
                };
                match self.persist(attempt, &write).await {
                    Ok(()) => Answer::FailureRecorded(error),
                    Err(error) => self.unrecorded(attempt, error).await,
                }
            }
        }
    }

    /// The body has panicked: what a lapse would come to, at once. If it cannot be written the lease lapses.
    pub(super) async fn panicked(&self, attempt: &Attempt) {
        let change = match self.lease.on_lapse() {
            OnLapse::Retry if !attempt.is_in_doubt() => Change::Release,
            OnLapse::Retry | OnLapse::Unknown => Change::Doubt,
        };
        let write = Write::own(change, self.ask.attempt_id, self.retention);
        let _ = self.persist(attempt, &write).await;
    }

    /// The body has come to its end and its record was not written. What the database will never take
    /// (a result over its limits) is as one that cannot be encoded; of what was out of reach nobody may
    /// say that the body did not run.
    async fn unrecorded<T, E>(&self, attempt: &Attempt, error: Error) -> Answer<T, E> {
        match error {
            Error::LeaseLost | Error::CommitUnknown(_) => Answer::Refused(error),
            Error::Unavailable(error)
            | Error::Busy(error)
            | Error::ReadOnly(error)
            | Error::TransactionLost(error)
            | Error::StatementsLost(error)
            | Error::LockTableFull(error) => Answer::Refused(Error::CommitUnknown(error)),
            error => self.doubt(attempt, error).await,
        }
    }

    /// The body has come to its end and what it came to cannot be kept: nobody may run it again.
    async fn doubt<T, E>(&self, attempt: &Attempt, refusal: Error) -> Answer<T, E> {
        let write = Write::own(Change::Doubt, self.ask.attempt_id, 0);
        let _ = self.persist(attempt, &write).await;
        Answer::Refused(refusal)
    }
}
