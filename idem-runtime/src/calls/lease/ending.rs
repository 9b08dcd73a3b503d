//! Ends an attempt by one fenced write, retried until its outcome is known.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use sqlx::Pool;
use tokio::time::{Instant, sleep, timeout_at};

use super::attempt::Attempt;
use super::heartbeats::Heartbeats;
use super::request::TakesOver;
use crate::calls::kit::answer::Answer;
use crate::calls::kit::backoff::RESOLVE_WITHIN;
use crate::calls::kit::contract::Contract;
use crate::calls::kit::request::Request;
use crate::decision::Change;
use crate::stores::lease::{LeaseBackend, Write};
use crate::stores::leased::write_fenced;
use crate::stores::{ClaimRequest, CommitError, PoolTraitsOf};
use crate::values::codec::{Binding, Column};
use crate::values::error::Error;
use crate::values::policy::{Lease, OnLapse};
use crate::values::record::AttemptId;

/// The attempt that holds a lease, with what it needs to end it.
pub(super) struct HeldLease<DB: LeaseBackend> {
    pub(super) pool: Pool<DB>,
    pub(super) heartbeats: Arc<Heartbeats<DB>>,
    pub(super) claim_request: ClaimRequest<PoolTraitsOf<DB>>,
    pub(super) lease: Lease,
    /// What the attempt took over, if it has no caller.
    pub(super) takes_over: Option<TakesOver>,
    /// The retention of the final record, in microseconds.
    pub(super) retention: i64,
}

impl<DB: LeaseBackend> HeldLease<DB> {
    /// Writes once. The connection is closed afterwards, unless it is known to be outside any
    /// transaction.
    async fn write(&self, write: &Write<'_>) -> Result<(), CommitError> {
        let pooled = self.heartbeats.ending().await;
        let mut pooled = pooled.map_err(CommitError::RolledBack)?;
        let done = write_fenced(&mut *pooled.conn, &self.claim_request, write).await;
        let is_clean = matches!(
            done,
            Ok(()) | Err(CommitError::RolledBack(Error::LeaseLost))
        );
        pooled.give_back(is_clean).await;
        done
    }

    /// Writes until the write is done or the lease is lost. Retries until the lease may end, and at
    /// least for [`RESOLVE_WITHIN`]; heartbeats continue meanwhile. A lost answer is resolved by
    /// writing again: if the record already holds the same bytes by this attempt, the write is
    /// done.
    async fn persist(&self, attempt: &Attempt, write: &Write<'_>) -> Result<(), Error> {
        // Computed once: successful heartbeats must not extend it for ever.
        let deadline = (Instant::now() + RESOLVE_WITHIN).max(attempt.lease_state().until);
        let mut lost = None;
        let mut pause = Duration::from_millis(2);
        loop {
            let failed = match timeout_at(deadline, self.write(write)).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(CommitError::RolledBack(error))) => {
                    // A connection that was inside a transaction is closed; the next one may be
                    // usable.
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
            // A closed pool returns an error at once, so the timeout would never fire.
            if Instant::now() >= deadline || self.heartbeats.is_closed() {
                return Err(lost.map_or(failed, |lost| Error::CommitUnknown(lost.into())));
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(1));
        }
    }

    /// Records the body's result and returns the answer for its caller.
    pub(super) async fn end<T, E>(
        &self,
        request: &Request,
        attempt: &Attempt,
        result: Result<T, E>,
        contract: &Contract<T, E>,
    ) -> Answer<T, E> {
        let limit = request.operation().policy().result_limit;
        let own = |change| Write::own(change, self.claim_request.attempt_id, self.retention);
        match result {
            Ok(value) => {
                let (bytes, value) = match contract.encode(limit, request.name(), &value) {
                    Ok(encoded) => encoded,
                    Err(refusal) => return self.doubt(attempt, refusal).await,
                };
                let protected = match self.protect(request, Column::Result, &bytes) {
                    Ok(protected) => protected,
                    Err(refusal) => return self.doubt(attempt, refusal).await,
                };
                let write = Write {
                    codec: request.call_codec().format().codec,
                    result: Some(&protected),
                    ..own(Change::Complete)
                };
                match self.persist(attempt, &write).await {
                    Ok(()) => Answer::Executed(value),
                    Err(error) => self.unrecorded(attempt, error).await,
                }
            }
            Err(error) => {
                let Some(encoded) = contract.encode_failure(limit, request.name(), &error) else {
                    self.give_up(attempt).await;
                    return Answer::Failed(error);
                };
                let (bytes, error) = match encoded {
                    Ok(encoded) => encoded,
                    Err(refusal) => return self.doubt(attempt, refusal).await,
                };
                let protected = match self.protect(request, Column::Failure, &bytes) {
                    Ok(protected) => protected,
                    Err(refusal) => return self.doubt(attempt, refusal).await,
                };
                let write = Write {
                    codec: request.call_codec().format().codec,
                    failure: Some(&protected),
                    ..own(Change::Fail)
                };
                match self.persist(attempt, &write).await {
                    Ok(()) => Answer::FailureRecorded(error),
                    Err(error) => self.unrecorded(attempt, error).await,
                }
            }
        }
    }

    /// Returns a payload as the record holds it: once, so that a write that is repeated is the same.
    fn protect<'b>(
        &self,
        request: &Request,
        column: Column,
        json: &'b [u8],
    ) -> Result<Cow<'b, [u8]>, Error> {
        let binding = Binding {
            identity: &self.claim_request.identity,
            operation: request.name(),
        };
        let attempt_id = self.claim_request.attempt_id;
        request
            .call_codec()
            .protect(binding, column, attempt_id, json)
    }

    /// Ends the attempt of a body that failed without a failure to record. If the write fails, the lease lapses.
    ///
    /// A caller knows of the failure and may call again: the key is released to it. Of an attempt that a worker
    /// began nobody knows: its lease ends now, and the next caller takes it over, or the worker after a pause. After
    /// the last attempt somebody must look.
    async fn give_up(&self, attempt: &Attempt) {
        let attempt_id = self.claim_request.attempt_id;
        let write = match self.takes_over {
            _ if attempt.is_in_doubt() => Write::own(Change::Doubt, attempt_id, self.retention),
            None => Write::own(Change::Release, attempt_id, self.retention),
            Some(takes_over) if takes_over.is_last(attempt.number()) => {
                Write::own(Change::Doubt, attempt_id, self.retention)
            }
            // A heartbeat may be on its way, and would find the lease again under the same attempt.
            Some(_) => Write {
                becomes: AttemptId::random(),
                ..Write::own(Change::Extend, attempt_id, 0)
            },
        };
        let _ = self.persist(attempt, &write).await;
    }

    /// Ends the attempt of a body that panicked as if its lease had lapsed.
    pub(super) async fn panicked(&self, attempt: &Attempt) {
        match self.lease.on_lapse() {
            OnLapse::Retry => self.give_up(attempt).await,
            OnLapse::Unknown => {
                let attempt_id = self.claim_request.attempt_id;
                let write = Write::own(Change::Doubt, attempt_id, self.retention);
                // If the write fails, the lease lapses.
                let _ = self.persist(attempt, &write).await;
            }
        }
    }

    /// Returns the answer if the body ended and its record could not be written. If the database
    /// will never accept the record (a result over its limits), the outcome is made unknown, as for
    /// a result that cannot be encoded. If the database was out of reach, the answer is
    /// [`Error::CommitUnknown`]: it must not claim that the body did not run.
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

    /// Makes the outcome unknown, because the body ended and its result cannot be stored: the body
    /// must not run again.
    async fn doubt<T, E>(&self, attempt: &Attempt, refusal: Error) -> Answer<T, E> {
        let write = Write::own(Change::Doubt, self.claim_request.attempt_id, 0);
        let _ = self.persist(attempt, &write).await;
        Answer::Refused(refusal)
    }
}
