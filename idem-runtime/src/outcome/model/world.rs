//! The world of the model: one key's record, a clock, callers and a reconciler.

use uuid::Uuid;

use super::super::{Change, Decision, Lessee, Lock, Question, Sighting, decide};
use crate::fingerprint::FINGERPRINT_VERSION;
use crate::policy::{Expiry, OnLapse};
use crate::record::{AttemptId, CODEC_JSON, Record, Status, Timestamp};

/// A lease, and how far the clock goes, in moments.
pub(super) const LEASE: i64 = 2;
pub(super) const END: i64 = 4;

/// How often one caller may ask.
const CALLS: u8 = 2;

/// The rules under which the world goes on: the library's, or broken ones.
#[derive(Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "breaks that do not depend on each other"
)]
pub(super) struct Rules {
    pub(super) on_lapse: OnLapse,
    pub(super) permits: fn(Change, &Record, AttemptId, Timestamp) -> bool,
    /// Broken: a look takes every lease for a lapsed one.
    pub(super) takes_live_leases: bool,
    /// Broken: a release deletes instead of counting on.
    pub(super) release_deletes: bool,
    /// Whether the second caller asks for another operation than the first.
    pub(super) differ: bool,
    /// Broken: a released record is not compared.
    pub(super) released_is_not_compared: bool,
}

/// The operations that the callers ask for.
const OPERATIONS: [&str; 2] = ["o", "p"];

impl Rules {
    /// Which operation a caller asks for.
    pub(super) fn operation(self, who: usize) -> usize {
        if self.differ { who } else { 0 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Row {
    pub(super) id: u8,
    pub(super) operation: usize,
    pub(super) attempt: i32,
    pub(super) status: Status,
    pub(super) until: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Caller {
    /// Has not asked, or may ask again. `asked`: when it first asked as this attempt, whose answer
    /// was lost.
    Idle { asked: Option<i64> },
    /// Has looked, and its write is on the way.
    Looked { plan: Plan, at: i64 },
    /// Runs the body, and counts on its lease until then. A sign of life may be on the way.
    Owner { until: i64, beat: Option<i64> },
    /// Its attempt is over for it; what it sent may still arrive.
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Plan {
    Insert,
    Replace { seen: u8, attempt: i32 },
    TakeOver { seen: u8, attempt: i32 },
    Lapse { seen: u8 },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) now: i64,
    pub(super) row: Option<Row>,
    pub(super) callers: [Caller; 2],
    /// How often each has asked.
    pub(super) calls: [u8; 2],
    /// The unknown attempt that the reconciler has seen.
    pub(super) reconciler: Option<u8>,
    pub(super) settled: u8,
    /// Results accepted.
    pub(super) results: u8,
    /// Bodies begun, and how often one was said to be free to begin again.
    pub(super) bodies: u8,
    pub(super) freed: u8,
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            now: 0,
            row: None,
            callers: [Caller::Idle { asked: None }; 2],
            calls: [0; 2],
            reconciler: None,
            settled: 0,
            results: 0,
            bodies: 0,
            freed: 0,
        }
    }

    /// The attempt that a caller is at.
    pub(super) fn id(&self, who: usize) -> u8 {
        10 * (u8::from(who == 1) + 1) + self.calls[who]
    }

    pub(super) fn may_ask(&self, who: usize) -> bool {
        self.calls[who] < CALLS
    }

    /// Looks and decides, by the library's own function.
    pub(super) fn look(&self, who: usize, rules: Rules) -> Decision {
        let mut record = self.row.as_ref().map(record);
        if let (true, Some(record)) = (rules.takes_live_leases, &mut record)
            && record.attempt_id != attempt(self.id(who))
        {
            record.locked_until = record.locked_until.map(|_| Timestamp::from_micros(0));
        }
        let operation = OPERATIONS[rules.operation(who)];
        if let (true, Some(record)) = (rules.released_is_not_compared, &mut record)
            && record.status == Status::Released
        {
            operation.clone_into(&mut record.operation);
        }
        let sighting = Sighting {
            record,
            lock: Lock::Granted,
            now: Timestamp::from_micros(self.now),
        };
        let question = Question {
            namespace: "n",
            operation,
            request: None,
            fingerprint: None,
            expiry: Expiry::Replay,
            lessee: Some(Lessee {
                attempt_id: attempt(self.id(who)),
                on_lapse: rules.on_lapse,
            }),
        };
        decide(sighting, question)
    }

    /// Makes a change if the fence permits it; `becomes` is the attempt that stands there afterwards.
    pub(super) fn change(&mut self, change: Change, seen: u8, becomes: u8, rules: Rules) -> bool {
        let now = Timestamp::from_micros(self.now);
        let Some(row) = &mut self.row else {
            return false;
        };
        if !(rules.permits)(change, &record(row), attempt(seen), now) {
            return false;
        }
        row.status = change.to();
        row.id = becomes;
        match row.status {
            Status::InProgress => row.until = Some(self.now + LEASE),
            Status::Unknown => {}
            Status::Completed | Status::Failed => {
                row.until = None;
                self.results += 1;
            }
            Status::Released => {
                row.until = None;
                // One more than any number of bodies is as good as more.
                self.freed = (self.freed + 1).min(9);
            }
        }
        if row.status == Status::Released && rules.release_deletes {
            self.row = None;
        }
        true
    }

    /// Puts a record in progress, in the place of whatever was there.
    pub(super) fn put(&mut self, id: u8, operation: usize, attempt: i32) {
        self.row = Some(Row {
            id,
            operation,
            attempt,
            status: Status::InProgress,
            until: Some(self.now + LEASE),
        });
    }
}

pub(super) fn attempt(id: u8) -> AttemptId {
    AttemptId::from_uuid(Uuid::from_u128(id.into()))
}

fn record(row: &Row) -> Record {
    Record {
        created_at: Timestamp::from_micros(0),
        expires_at: None,
        locked_until: row.until.map(Timestamp::from_micros),
        attempt_id: attempt(row.id),
        attempt: row.attempt,
        status: row.status,
        fingerprint_version: FINGERPRINT_VERSION,
        codec: CODEC_JSON,
        operation: OPERATIONS[row.operation].to_owned(),
        fingerprint: None,
        request: None,
        request_too_large: false,
        result: None,
        failure: None,
    }
}
