//! The one decision: what a sighting of the store means for a request.
//!
//! Every path asks here: before the transaction and in it, after a rival's win, after a lost
//! COMMIT, while waiting, and in the plain store. The classic fault of this field is a fast path
//! that skipped the comparison.

use std::fmt;
use std::time::Duration;

use crate::error::{Error, Mismatch};
use crate::fingerprint::{FINGERPRINT_VERSION, Fingerprint, without_order};
use crate::policy::{DEFAULT_RETRY_AFTER, Expiry, MAX_RETRY_AFTER, OnLapse};
use crate::record::{AttemptId, Record, Status, Timestamp};

/// What the store showed at one moment.
#[derive(Debug)]
pub(crate) struct Sighting {
    /// The record, if there is one.
    pub(crate) record: Option<Record>,
    /// What came of asking for the identity's lock.
    pub(crate) lock: Lock,
    /// That moment, by the database's clock.
    pub(crate) now: Timestamp,
}

/// What came of asking for the identity's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    /// It is this attempt's.
    Granted,
    /// Another attempt has it.
    Refused,
    /// An attempt further out in the very same transaction has it.
    Nested,
    /// It was not asked for: this is a mere look.
    NotAsked,
    /// It was asked for outside any transaction, where it means nothing.
    NoTransaction,
}

/// What is asked of a sighting.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    /// The namespace, part of every fingerprint.
    pub(crate) namespace: &'a str,
    /// The operation now called.
    pub(crate) operation: &'a str,
    /// The canonical JSON of the request; `None` if the operation compares none.
    pub(crate) request: Option<&'a [u8]>,
    /// Its fingerprint by this build's own version, if that is known already.
    pub(crate) fingerprint: Option<Fingerprint>,
    /// How a record past its retention is read.
    pub(crate) expiry: Expiry,
    /// Who asks for a lease; `None` in atomic mode, which takes no lapsed lease over.
    pub(crate) lessee: Option<Lessee>,
}

impl fmt::Debug for Question<'_> {
    /// Shows no request.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question")
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}

/// An attempt that asks for a lease.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lessee {
    /// That attempt: a lease that carries it is its own, by a claim whose answer was lost.
    pub(crate) attempt_id: AttemptId,
    /// What it makes of a lapsed lease.
    pub(crate) on_lapse: OnLapse,
}

/// What the sighting means.
#[derive(Debug)]
pub enum Decision {
    /// Run the body.
    Run {
        /// The spent record whose place the new one takes, if any.
        replaces: Option<AttemptId>,
        /// The number of the attempt, from 1.
        attempt: i32,
    },
    /// Take a lapsed lease over, and run the body.
    TakeOver {
        /// The attempt whose lease it was.
        lapsed: AttemptId,
        /// The number of the new attempt.
        attempt: i32,
    },
    /// Make a lapsed lease unknown, and say so.
    Lapse(Box<Record>),
    /// Run the body: the lease is this attempt's already.
    Held {
        /// The number of the attempt.
        attempt: i32,
    },
    /// Answer with the recorded result.
    Replay(Box<Record>),
    /// Answer with the recorded failure.
    ReplayFailure(Box<Record>),
    /// Refuse: in flight, mismatch, nested, unknown.
    Refuse(Error),
}

/// Decides. In order: a record past a strict retention counts as absent; then mismatch, completed,
/// failed, unknown, live or lapsed lease, which only a lessee does something about; and without a
/// record, or with a released one of the same request: nested, lock refused, fresh.
pub(crate) fn decide(sighting: Sighting, question: Question<'_>) -> Decision {
    let Sighting { record, lock, now } = sighting;
    let mut spent = None;
    if let Some(record) = record {
        let place = (record.attempt_id, record.attempt);
        if has_expired(&record, now, question.expiry) {
            spent = Some(place);
        } else {
            match decide_record(record, now, question) {
                Some(decision) => return decision,
                None => spent = Some(place),
            }
        }
    }
    match lock {
        Lock::Nested => Decision::Refuse(Error::NestedSameKey),
        Lock::Refused => Decision::Refuse(Error::InFlight {
            retry_after: DEFAULT_RETRY_AFTER,
        }),
        Lock::NoTransaction => Decision::Refuse(Error::NotInTransaction),
        Lock::Granted | Lock::NotAsked => Decision::Run {
            replaces: spent.map(|(attempt_id, _)| attempt_id),
            attempt: spent.map_or(1, |(_, attempt)| attempt.saturating_add(1)),
        },
    }
}

/// Whether a record counts as absent, for its retention is over. A lease and an unknown outcome have
/// none.
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

/// What a record says; `None` if its key was given back for this very request. A released record is
/// compared as every other: an earlier attempt may have shown its request to a provider, under the
/// key that all attempts share.
fn decide_record(record: Record, now: Timestamp, question: Question<'_>) -> Option<Decision> {
    match mismatch(&record, question) {
        Ok(None) => {}
        Ok(Some(mismatch)) => return Some(Decision::Refuse(Error::Mismatch(Box::new(mismatch)))),
        Err(error) => return Some(Decision::Refuse(error)),
    }
    Some(match record.status {
        Status::Completed => Decision::Replay(Box::new(record)),
        Status::Failed => Decision::ReplayFailure(Box::new(record)),
        Status::Unknown => Decision::Refuse(unknown(&record)),
        Status::InProgress => decide_lease(record, now, question.lessee),
        Status::Released => return None,
    })
}

/// A lease, live or lapsed. At its very end it has lapsed: `locked_until` is the first moment that is
/// not its owner's.
fn decide_lease(record: Record, now: Timestamp, lessee: Option<Lessee>) -> Decision {
    let left = record
        .locked_until
        .map(|until| until.since(now))
        .filter(|left| !left.is_zero());
    let has_lapsed = record.locked_until.is_some() && left.is_none();
    match lessee {
        Some(lessee) if lessee.attempt_id == record.attempt_id => Decision::Held {
            attempt: record.attempt,
        },
        Some(lessee) if has_lapsed => match lessee.on_lapse {
            OnLapse::Retry => Decision::TakeOver {
                lapsed: record.attempt_id,
                attempt: record.attempt.saturating_add(1),
            },
            OnLapse::Unknown => Decision::Lapse(Box::new(record)),
        },
        // Without an end (no schema of ours) it is held for ever, and not up for grabs.
        _ => Decision::Refuse(Error::InFlight {
            retry_after: left.map_or(DEFAULT_RETRY_AFTER, |left| {
                retry_after(now.since(record.created_at), left)
            }),
        }),
    }
}

/// When to ask again for a key that an attempt of this age holds: after as long again as it has run,
/// from [`DEFAULT_RETRY_AFTER`] to [`MAX_RETRY_AFTER`], and no later than its lease may lapse. The
/// lease says how long a silent owner is waited for, not how long the work takes.
pub(super) fn retry_after(age: Duration, left: Duration) -> Duration {
    age.clamp(DEFAULT_RETRY_AFTER, MAX_RETRY_AFTER).min(left)
}

/// What a caller is told of a record whose outcome is unknown.
pub(crate) fn unknown(record: &Record) -> Error {
    Error::OutcomeUnknown {
        operation: record.operation.clone(),
        attempt_id: record.attempt_id.as_uuid(),
        attempt: record.attempt,
    }
}

/// How the request differs from the recorded one, if it does. Compared by the algorithm that the
/// record names.
fn mismatch(record: &Record, question: Question<'_>) -> Result<Option<Mismatch>, Error> {
    let submitted = match question.request {
        Some(request) => Some(submitted(record.fingerprint_version, question, request)?),
        None => None,
    };
    let same_request = match (record.fingerprint, submitted) {
        (Some(recorded), Some(submitted)) => recorded == submitted,
        // Compared only if both sides hash: an operation that stopped or began comparing keeps its
        // old keys.
        (None, _) | (_, None) => true,
    };
    if record.operation == question.operation && same_request {
        return Ok(None);
    }
    let mut mismatch = Mismatch::new(record.operation.clone(), question.operation.to_owned());
    mismatch.recorded_request.clone_from(&record.request);
    mismatch.recorded_request_too_large = record.request_too_large;
    mismatch.recorded_hash = record.fingerprint.map(|hash| hash.to_string());
    mismatch.submitted_hash = submitted.map(|hash| hash.to_string());
    if record.operation == question.operation
        && let (Some(recorded), Some(submitted)) = (&record.request, question.request)
    {
        let elements = without_order(recorded);
        mismatch.differs_in_order_only = elements.is_some() && elements == without_order(submitted);
    }
    Ok(Some(mismatch))
}

/// The fingerprint of what is asked, by the algorithm of a version.
fn submitted(version: i16, question: Question<'_>, request: &[u8]) -> Result<Fingerprint, Error> {
    match question.fingerprint {
        Some(fingerprint) if version == FINGERPRINT_VERSION => Ok(fingerprint),
        _ => Fingerprint::compute(version, question.namespace, question.operation, request).ok_or(
            Error::UnknownState {
                what: "fingerprint version",
                value: i64::from(version),
            },
        ),
    }
}
