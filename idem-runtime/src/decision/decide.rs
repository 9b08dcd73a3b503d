//! Decides what a call does next, from the state of the store at one moment.
//!
//! Every path uses this decision: before the transaction and inside it, after losing to a competing
//! attempt, after a lost COMMIT, while waiting, and in the raw store. Therefore no fast path can
//! skip the comparison of requests.

use std::fmt;
use std::time::Duration;

use super::open::Opener;
use crate::values::error::{Error, Mismatch};
use crate::values::fingerprint::{
    FINGERPRINT_KEYED, FINGERPRINT_VERSION, Fingerprint, differing, without_order,
};
use crate::values::policy::{DEFAULT_RETRY_AFTER, Expiry, MAX_RETRY_AFTER, OnLapse};
use crate::values::record::{AttemptId, CODEC_JSON, Record, Status, Timestamp};

/// The state of the store at one moment.
#[derive(Debug, Clone)]
pub struct Lookup {
    /// The record, if there is one.
    pub(crate) record: Option<Record>,
    /// The result of trying to lock the identity.
    pub(crate) lock: Lock,
    /// That moment, by the database's clock.
    pub(crate) now: Timestamp,
}

/// The result of trying to lock the identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    /// This attempt holds the lock.
    Granted,
    /// Another attempt holds the lock.
    Refused,
    /// An outer attempt in the same transaction holds the lock.
    Nested,
    /// The lock was not tried, because the store was only read.
    NotAsked,
    /// The lock was tried outside a transaction, where it has no effect.
    NoTransaction,
}

/// The request that the state of the store is compared with.
#[derive(Clone, Copy)]
pub(crate) struct DecideInput<'a> {
    /// The namespace, which is part of every fingerprint.
    pub(crate) namespace: &'a str,
    /// The operation that is called.
    pub(crate) operation: &'a str,
    /// The canonical JSON of the request, or `None` if the operation compares no requests.
    pub(crate) request: Option<&'a [u8]>,
    /// Its fingerprint of the version that the operation writes, if already computed.
    pub(crate) fingerprint: Option<Fingerprint>,
    /// How a record past its retention is read.
    pub(crate) expiry: Expiry,
    /// The attempt that requests a lease, or `None` in atomic mode, where lapsed leases are not
    /// taken over.
    pub(crate) lease_holder: Option<LeaseHolder>,
    /// What reads a record whose payloads are not plain JSON, if the operation has a codec.
    pub(crate) opener: Option<Opener<'a>>,
}

impl DecideInput<'_> {
    /// Returns the same request, for a record that does not expire.
    pub(crate) fn without_expiry(mut self) -> Self {
        self.expiry = Expiry::Replay;
        self
    }
}

impl fmt::Debug for DecideInput<'_> {
    /// Prints no request.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecideInput")
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}

/// An attempt that requests a lease.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeaseHolder {
    /// The attempt. A lease with this id is its own: the answer of an earlier claim was lost.
    pub(crate) attempt_id: AttemptId,
    /// How a lapsed lease is handled.
    pub(crate) on_lapse: OnLapse,
    /// The attempt whose lapsed lease is to be taken over. Then nothing else runs the body: neither a key that has
    /// become free, nor the lapsed lease of another attempt.
    pub(crate) takes_over: Option<AttemptId>,
}

impl LeaseHolder {
    /// Returns whether this attempt is to take over the lease of another attempt than this one.
    fn succeeds_another_than(self, lapsed: AttemptId) -> bool {
        self.takes_over.is_some_and(|other| other != lapsed)
    }
}

/// The next step of the call.
#[derive(Debug)]
pub enum Decision {
    /// Run the body.
    Run {
        /// The attempt of the reclaimable record to replace, if there is one.
        replaces: Option<AttemptId>,
        /// The number of the attempt, from 1.
        attempt: i32,
        /// What the key was before.
        before: KeyBefore,
    },
    /// Take over a lapsed lease and run the body.
    TakeOver {
        /// The attempt whose lease lapsed.
        lapsed: AttemptId,
        /// The number of the new attempt.
        attempt: i32,
    },
    /// Make a lapsed lease unknown and return [`Error::OutcomeUnknown`].
    Lapse(Box<Record>),
    /// Run the body: this attempt already holds the lease.
    AlreadyHeld {
        /// The number of the attempt.
        attempt: i32,
    },
    /// Return the recorded result.
    Replay(Box<Record>),
    /// Return the recorded failure.
    ReplayFailure(Box<Record>),
    /// Refuse the call: in flight, mismatch, nested, or unknown outcome.
    Refuse(Error),
}

/// What a key was before an attempt that runs the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyBefore {
    /// It had no record.
    Unused,
    /// An earlier attempt had released it.
    Released,
    /// Its record was past its retention, under strict expiry.
    Expired,
    /// The lease of an earlier attempt had lapsed.
    Lapsed,
}

/// Decides, in this order:
///
/// 1. A record past its retention counts as absent if the operation has strict expiry.
/// 2. Otherwise the record decides: mismatch, completed, failed, unknown, live lease, lapsed lease.
///    Only an attempt that requests a lease acts on a lapsed one.
/// 3. Without a record, or with a released record of the same request, the lock decides: nested,
///    refused, or run. An attempt that is to take a certain lease over does not run then.
pub(crate) fn decide(lookup: Lookup, input: DecideInput<'_>) -> Decision {
    let Lookup { record, lock, now } = lookup;
    let (mut reclaimable, mut before) = (None, KeyBefore::Unused);
    if let Some(record) = record {
        let last_attempt = (record.attempt_id, record.attempt);
        if has_expired(&record, now, input.expiry) {
            (reclaimable, before) = (Some(last_attempt), KeyBefore::Expired);
        } else {
            if let Some(decision) = decide_record(record, now, input) {
                return decision;
            }
            (reclaimable, before) = (Some(last_attempt), KeyBefore::Released);
        }
    }
    match lock {
        Lock::Nested => Decision::Refuse(Error::NestedSameKey),
        Lock::Refused => Decision::Refuse(Error::in_flight(DEFAULT_RETRY_AFTER)),
        Lock::NoTransaction => Decision::Refuse(Error::NotInTransaction),
        Lock::Granted | Lock::NotAsked if takes_over_only(input) => {
            Decision::Refuse(Error::LeaseLost)
        }
        Lock::Granted | Lock::NotAsked => Decision::Run {
            replaces: reclaimable.map(|(attempt_id, _)| attempt_id),
            attempt: reclaimable.map_or(1, |(_, attempt)| attempt.saturating_add(1)),
            before,
        },
    }
}

/// Returns whether the attempt runs only if it takes a certain lease over.
fn takes_over_only(input: DecideInput<'_>) -> bool {
    input
        .lease_holder
        .is_some_and(|lease_holder| lease_holder.takes_over.is_some())
}

/// Returns whether a record counts as absent because its retention is over. Leases and unknown
/// outcomes have no retention.
fn has_expired(record: &Record, now: Timestamp, expiry: Expiry) -> bool {
    match record.status {
        Status::Completed | Status::Failed | Status::Released => {
            expiry == Expiry::Strict
                && record
                    .expires_at
                    .is_some_and(|expires_at| expires_at <= now)
        }
        Status::InProgress | Status::Unknown => false,
    }
}

/// Returns the decision of a record, or `None` if the key was released and the request is the same.
/// A released record is compared like any other: an earlier attempt may have sent its request to a
/// provider under the external key that all attempts share.
fn decide_record(record: Record, now: Timestamp, input: DecideInput<'_>) -> Option<Decision> {
    match mismatch(&record, input) {
        Ok(None) => {}
        Ok(Some(mismatch)) => return Some(Decision::Refuse(Error::Mismatch(Box::new(mismatch)))),
        Err(error) => return Some(Decision::Refuse(error)),
    }
    Some(match record.status {
        Status::Completed => replay(record, input, Decision::Replay),
        Status::Failed => replay(record, input, Decision::ReplayFailure),
        Status::Unknown => Decision::Refuse(unknown(&record)),
        Status::InProgress => decide_lease(record, now, input.lease_holder),
        Status::Released => return None,
    })
}

/// Returns the replay of a record whose payload can be opened.
fn replay(
    record: Record,
    input: DecideInput<'_>,
    replay: impl FnOnce(Box<Record>) -> Decision,
) -> Decision {
    match input.opener {
        None => replay(Box::new(record)),
        Some(opener) => match opener.open_answer(record) {
            Ok(record) => replay(Box::new(record)),
            Err(error) => Decision::Refuse(error),
        },
    }
}

/// Decides on a lease. At `locked_until` itself the lease has lapsed: that is the first moment that
/// does not belong to its owner.
fn decide_lease(record: Record, now: Timestamp, lease_holder: Option<LeaseHolder>) -> Decision {
    let left = record
        .locked_until
        .map(|until| until.since(now))
        .filter(|left| !left.is_zero());
    let has_lapsed = record.locked_until.is_some() && left.is_none();
    match lease_holder {
        Some(lease_holder) if lease_holder.attempt_id == record.attempt_id => {
            Decision::AlreadyHeld {
                attempt: record.attempt,
            }
        }
        Some(lease_holder)
            if has_lapsed && lease_holder.succeeds_another_than(record.attempt_id) =>
        {
            Decision::Refuse(Error::LeaseLost)
        }
        Some(lease_holder) if has_lapsed => match lease_holder.on_lapse {
            OnLapse::Retry => Decision::TakeOver {
                lapsed: record.attempt_id,
                attempt: record.attempt.saturating_add(1),
            },
            OnLapse::Unknown => Decision::Lapse(Box::new(record)),
        },
        _ => Decision::Refuse(Error::in_flight(in_flight_for(Some(&record), now))),
    }
}

/// Returns when to ask again for a key that an attempt holds: by its record if it has a lease. A lease without
/// `locked_until` (impossible in our schema) counts as live for ever.
pub(crate) fn in_flight_for(record: Option<&Record>, now: Timestamp) -> Duration {
    let lease =
        record.and_then(|record| Some((record.created_at, record.locked_until?.since(now))));
    match lease {
        Some((since, left)) if !left.is_zero() => retry_after(now.since(since), left),
        _ => DEFAULT_RETRY_AFTER,
    }
}

/// Returns when to retry a key that an attempt of this age holds: the age again, but at least
/// [`DEFAULT_RETRY_AFTER`], at most [`MAX_RETRY_AFTER`], and no later than its lease may lapse. The
/// length of the lease does not tell how long the work takes, only how long a silent owner is
/// waited for.
pub(super) fn retry_after(age: Duration, left: Duration) -> Duration {
    age.clamp(DEFAULT_RETRY_AFTER, MAX_RETRY_AFTER).min(left)
}

/// Returns the error for a record whose outcome is unknown.
pub(crate) fn unknown(record: &Record) -> Error {
    Error::OutcomeUnknown {
        operation: record.operation.clone(),
        attempt_id: record.attempt_id.as_uuid(),
        attempt: record.attempt,
    }
}

/// Returns how the request differs from the recorded one, or `None` if it is the same. Both are
/// hashed by the algorithm of the record.
fn mismatch(record: &Record, input: DecideInput<'_>) -> Result<Option<Mismatch>, Error> {
    let submitted = match input.request {
        Some(request) => Some(submitted(record, input, request)?),
        None => None,
    };
    let same_request = match (record.fingerprint, submitted) {
        (Some(recorded), Some(submitted)) => recorded == submitted,
        // Compare only if both sides have a hash: an operation that began or stopped comparing
        // keeps its earlier keys.
        (None, _) | (_, None) => true,
    };
    if record.operation == input.operation && same_request {
        return Ok(None);
    }
    // Under another key of the same id no request is the recorded one.
    if let (FINGERPRINT_KEYED, Some(opener)) = (record.fingerprint_version, input.opener) {
        opener.check(record)?;
    }
    let mut mismatch = Mismatch::new(record.operation.clone(), input.operation.to_owned());
    mismatch.recorded_request = recorded_request(record, input.opener);
    mismatch.recorded_request_too_large = record.request_too_large;
    mismatch.recorded_hash = record.fingerprint.map(|hash| hash.to_string());
    mismatch.submitted_hash = submitted.map(|hash| hash.to_string());
    if record.operation == input.operation
        && let (Some(recorded), Some(submitted)) = (&mismatch.recorded_request, input.request)
    {
        let elements = without_order(recorded);
        mismatch.differs_in_order_only = elements.is_some() && elements == without_order(submitted);
        mismatch.differing = differing(recorded, submitted).unwrap_or_default();
    }
    Ok(Some(mismatch))
}

/// Returns the recorded request, or `None` if there is none that this call can open: it is another request all the same.
fn recorded_request(record: &Record, opener: Option<Opener<'_>>) -> Option<Vec<u8>> {
    match opener {
        Some(opener) => opener.open_request(record).ok().flatten(),
        None if record.codec == CODEC_JSON => record.request.clone(),
        None => None,
    }
}

/// Returns the fingerprint of the submitted request by the algorithm, and the key, of the recorded one.
fn submitted(
    record: &Record,
    input: DecideInput<'_>,
    request: &[u8],
) -> Result<Fingerprint, Error> {
    let version = record.fingerprint_version;
    let written = input
        .opener
        .map_or(FINGERPRINT_VERSION, Opener::fingerprint_version);
    let computed = input.fingerprint.filter(|_| version == written);
    if let (FINGERPRINT_KEYED, Some(opener)) = (version, input.opener) {
        let compared = (input.operation, request);
        return match record.fingerprint {
            Some(recorded) => opener.fingerprint_as(recorded, computed, compared),
            // Any will do: there is none to compare it with.
            None => Fingerprint::current(input.namespace, input.operation, request),
        };
    }
    match computed {
        Some(fingerprint) => Ok(fingerprint),
        _ => Fingerprint::compute(version, input.namespace, input.operation, request).ok_or(
            Error::UnknownState {
                what: "fingerprint version",
                value: i64::from(version),
            },
        ),
    }
}
