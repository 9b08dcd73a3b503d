//! Lease mode on the plain store: claim, heartbeat, and end.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::bound::{Bound, answered};
use super::claim::ClaimRequest;
use super::lease::{LeaseRequest, LeaseSession, Leased, Write};
use super::session::{CommitError, RequestOf};
use crate::decision::{Change, DecideInput, Decision, KeyBefore, Opener, Outcome};
use crate::values::codec::{Binding, CallCodec, Column};
use crate::values::error::{Error, Field};
use crate::values::failure::StoredFailure;
use crate::values::fingerprint::canonical_json;
use crate::values::key::{IdempotencyKey, limits, text};
use crate::values::payload::PayloadKind;
use crate::values::policy::{DEFAULT_RETRY_AFTER, Lease};
use crate::values::record::{AttemptId, stored_request};

/// How often a claim looks again because another attempt was quicker. If nothing can be locked before the
/// look-up, competing attempts may be quicker again and again; only a competing record that is never seen is
/// hidden.
const MAX_CONFLICTS: u32 = 8;

/// A lease on one key: the right to have its effect, until it lapses.
///
/// Unlike a [`StoreClaim`](super::StoreClaim) it is valid on any connection. If it is dropped without an end,
/// it lapses.
#[derive(Debug)]
#[must_use = "complete, fail or release the lease; dropped, it holds the key until it lapses"]
pub struct StoreLease {
    claim_request: ClaimRequest<()>,
    operation: String,
    attempt: i32,
    lease: Lease,
}

impl StoreLease {
    /// Returns the attempt's id: the fencing token of every write after the claim.
    pub fn attempt_id(&self) -> AttemptId {
        self.claim_request.attempt_id
    }

    /// Returns the number of the attempt among those of the key, from 1.
    pub fn number(&self) -> i32 {
        self.attempt
    }

    /// Returns the attempt's external key; see [`Attempt::external_key`](crate::Attempt::external_key).
    pub fn external_key(&self) -> String {
        self.claim_request.identity.external_key("")
    }
}

impl StoreLease {
    /// Returns a payload as the record holds it.
    fn protect<'b>(
        &self,
        call_codec: &CallCodec,
        column: Column,
        json: &'b [u8],
    ) -> Result<Cow<'b, [u8]>, Error> {
        let binding = Binding {
            identity: &self.claim_request.identity,
            operation: &self.operation,
        };
        call_codec.protect(binding, column, self.attempt_id(), json)
    }
}

impl<S: LeaseSession, Req, Res> Bound<'_, S, Req, Res> {
    /// Asks for a lease on the key. The claim is durably committed before this returns. `request` is compared,
    /// and kept in the record for the reconciliation of an unknown outcome.
    ///
    /// The connection must have no transaction open.
    ///
    /// # Errors
    /// [`Error::OutcomeUnknown`] if an earlier attempt's outcome is unknown, or becomes so by a lapse under
    /// [`OnLapse::Unknown`](crate::values::policy::OnLapse::Unknown); [`Error::LeaseInTransaction`] and
    /// [`Error::AlreadyInTransaction`] inside a transaction; [`Error::CommitUnknown`] if the answer to COMMIT
    /// is lost: the key may be held until that lease lapses; otherwise as [`begin`](Self::begin).
    pub async fn begin_leased(
        &mut self,
        key: &IdempotencyKey,
        operation: &str,
        request: &Req,
        lease: Lease,
    ) -> Result<Outcome<StoreLease, Req, Res>, Error>
    where
        Req: Serialize + DeserializeOwned,
        Res: DeserializeOwned,
    {
        text::check(Field::Operation, operation, limits::OPERATION_MAX)?;
        let canonical = canonical_json(request)?;
        let call_codec = CallCodec::of(self.store.codec)?;
        let identity = self.identity(&call_codec, key, operation)?;
        let claim_request = ClaimRequest::new(self.store.table.clone(), identity);
        let fingerprint =
            Some(call_codec.fingerprint(&claim_request.identity, operation, &canonical)?);
        let binding = Binding {
            identity: &claim_request.identity,
            operation,
        };
        let attempt_id = claim_request.attempt_id;
        let kept = stored_request(&canonical, self.store.request_limit);
        let kept = call_codec.protect(binding, Column::Request, attempt_id, kept)?;
        let lease_request = LeaseRequest {
            input: DecideInput {
                namespace: self.store.namespace.as_str(),
                operation,
                request: Some(&canonical),
                fingerprint,
                expiry: self.store.expiry,
                lease_holder: None,
                opener: Opener::of(call_codec.protection(), &claim_request.identity),
            },
            lease,
            takes_over: None,
            fingerprint,
            format: call_codec.format(),
            request: Some(&kept),
        };
        match claim(self.conn, &claim_request.on_connection(), &lease_request)
            .await
            .map_err(certain)?
        {
            LeaseAnswer::Claimed { attempt, .. } => Ok(Outcome::Fresh(StoreLease {
                claim_request,
                operation: operation.to_owned(),
                attempt,
                lease,
            })),
            LeaseAnswer::Decided(decision) => answered(self.store, decision),
        }
    }

    /// Sends a heartbeat: the lease lasts its whole length again, from now.
    ///
    /// # Errors
    /// [`Error::LeaseLost`] if the lease has become another attempt's, or is no lease any more; and the
    /// database's, after which it may be tried again.
    pub async fn extend(&mut self, lease: &StoreLease) -> Result<(), Error> {
        let write = Write::own(Change::Extend, lease.attempt_id(), lease.lease.micros());
        self.end(lease, write).await
    }

    /// Records the result, and returns it as it is recorded. Answer with the returned result: every retry gets
    /// the same (see [`commit`](Self::commit)). This works, also after a lapse, as long as nobody else has
    /// taken the key over or settled its outcome.
    ///
    /// It may be repeated after an error of the database: if this attempt has already recorded the same bytes,
    /// that is no error.
    ///
    /// # Errors
    /// [`Error::LeaseLost`] if this was not recorded, also because another result of this attempt already is;
    /// [`Error::NotStorable`]; [`Error::TooLargeToRecord`]; [`Error::LeaseInTransaction`]; and the database's.
    pub async fn complete(&mut self, lease: &StoreLease, result: &Res) -> Result<Res, Error>
    where
        Res: Serialize + DeserializeOwned,
    {
        let (bytes, recorded) = self.store.results().encode(
            self.store.result_limit,
            PayloadKind::Result,
            &lease.operation,
            result,
        )?;
        let call_codec = CallCodec::of(self.store.codec)?;
        let protected = lease.protect(&call_codec, Column::Result, &bytes)?;
        let write = Write {
            codec: call_codec.format().codec,
            result: Some(&protected),
            ..self.ending(Change::Complete, lease)
        };
        self.end(lease, write).await?;
        Ok(recorded)
    }

    /// Records a permanent failure, to be replayed.
    ///
    /// # Errors
    /// As [`complete`](Self::complete).
    pub async fn fail(&mut self, lease: &StoreLease, failure: &StoredFailure) -> Result<(), Error> {
        let (bytes, _) = self.store.failures().encode(
            self.store.result_limit,
            PayloadKind::Failure,
            &lease.operation,
            failure,
        )?;
        let call_codec = CallCodec::of(self.store.codec)?;
        let protected = lease.protect(&call_codec, Column::Failure, &bytes)?;
        let write = Write {
            codec: call_codec.format().codec,
            failure: Some(&protected),
            ..self.ending(Change::Fail, lease)
        };
        self.end(lease, write).await
    }

    /// Gives the key back for another attempt: the effect has not happened, or may happen again. The record
    /// stays, and keeps counting attempts.
    ///
    /// # Errors
    /// As [`complete`](Self::complete); [`Error::LeaseLost`] also if the outcome has become unknown.
    pub async fn release_lease(&mut self, lease: &StoreLease) -> Result<(), Error> {
        self.end(lease, self.ending(Change::Release, lease)).await
    }

    /// Records that nobody knows whether the effect happened: the key waits for reconciliation.
    ///
    /// # Errors
    /// As [`complete`](Self::complete).
    pub async fn leave_unknown(&mut self, lease: &StoreLease) -> Result<(), Error> {
        self.end(lease, self.ending(Change::Doubt, lease)).await
    }

    fn ending(&self, change: Change, lease: &StoreLease) -> Write<'static> {
        Write::own(change, lease.attempt_id(), self.store.retention_micros())
    }

    async fn end(&mut self, lease: &StoreLease, write: Write<'_>) -> Result<(), Error> {
        write_fenced(self.conn, &lease.claim_request.on_connection(), &write)
            .await
            .map_err(certain)
    }
}

/// The answer to the claim of a lease.
#[derive(Debug)]
pub(crate) enum LeaseAnswer {
    /// The lease is this attempt's, the `attempt`th of its key.
    Claimed { attempt: i32, before: KeyBefore },
    /// The decision is not to run the body.
    Decided(Decision),
}

/// Claims a lease, and looks again if another attempt was quicker.
pub(crate) async fn claim<S: LeaseSession>(
    conn: &mut S,
    claim_request: &RequestOf<S>,
    lease_request: &LeaseRequest<'_>,
) -> Result<LeaseAnswer, CommitError> {
    let lease_request = lease_request.for_attempt(claim_request.attempt_id);
    let mut is_hidden = true;
    for _ in 0..MAX_CONFLICTS {
        match conn.acquire(claim_request, &lease_request).await? {
            Leased::Taken { attempt, before } => {
                return Ok(LeaseAnswer::Claimed { attempt, before });
            }
            Leased::Decided(decision) => return Ok(LeaseAnswer::Decided(decision)),
            Leased::Conflict { found_record } => is_hidden &= !found_record,
        }
    }
    if is_hidden {
        return Err(CommitError::RolledBack(Error::RecordInvisible));
    }
    Ok(LeaseAnswer::Decided(Decision::Refuse(Error::in_flight(
        DEFAULT_RETRY_AFTER,
    ))))
}

/// Makes one fenced write. If it finds nothing to change, the record shows whether this very write was made
/// before (its answer was lost) or the lease is lost.
pub(crate) async fn write_fenced<S: LeaseSession>(
    conn: &mut S,
    claim_request: &RequestOf<S>,
    write: &Write<'_>,
) -> Result<(), CommitError> {
    if conn.update(claim_request, write).await? {
        return Ok(());
    }
    let found = conn
        .look_up(claim_request)
        .await
        .map_err(CommitError::RolledBack)?;
    if found
        .lookup
        .record
        .is_some_and(|record| write.stands_in(&record))
    {
        Ok(())
    } else {
        Err(CommitError::RolledBack(Error::LeaseLost))
    }
}

/// Returns both kinds as one error, for a caller who does not distinguish them.
pub(crate) fn certain(error: CommitError) -> Error {
    match error {
        CommitError::RolledBack(error) => error,
        CommitError::Ambiguous(lost) => Error::CommitUnknown(lost.into()),
    }
}

#[cfg(test)]
mod tests;
