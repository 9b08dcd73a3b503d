//! The state of the model: the record of one key, a clock, two callers and a reconciler.

use uuid::Uuid;

use super::super::{Change, DecideInput, Decision, LeaseHolder, Lock, Lookup, decide};
use crate::values::fingerprint::FINGERPRINT_VERSION;
use crate::values::policy::{Expiry, OnLapse};
use crate::values::record::{AttemptId, CODEC_JSON, Record, Status, Timestamp};

/// The length of a lease and the end of the clock, in moments.
pub(super) const LEASE: i64 = 2;
pub(super) const END: i64 = 4;

/// How often one caller may call.
const CALLS: u8 = 2;

/// The rules of the model: the library's, or deliberately broken ones.
#[derive(Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "breaks that do not depend on each other"
)]
pub(super) struct Rules {
    pub(super) on_lapse: OnLapse,
    pub(super) permits: fn(Change, &Record, AttemptId, Timestamp) -> bool,
    /// Broken: reading the record treats every lease as lapsed.
    pub(super) takes_live_leases: bool,
    /// Broken: a release deletes the record, and with it the number of the attempt.
    pub(super) release_deletes: bool,
    /// Whether the two callers call different operations.
    pub(super) differ: bool,
    /// Broken: a released record is not compared.
    pub(super) released_is_not_compared: bool,
}

/// The names of the operations.
const OPERATIONS: [&str; 2] = ["o", "p"];

impl Rules {
    /// Returns the index of the operation that a caller calls.
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
    /// Has not claimed, or may claim again. `asked` is when it first claimed as this attempt, if
    /// the answer was lost.
    Idle { asked: Option<i64> },
    /// Has read the record and is about to write.
    Looked { plan: Plan, at: i64 },
    /// Runs the body and relies on its lease until `until`. `renewed` is when a heartbeat was sent
    /// that has not arrived.
    Owner { until: i64, renewed: Option<i64> },
    /// Has ended its attempt; messages that it sent may still arrive.
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Plan {
    Insert,
    Replace { expected: u8, attempt: i32 },
    TakeOver { expected: u8, attempt: i32 },
    Lapse { expected: u8 },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) now: i64,
    pub(super) row: Option<Row>,
    pub(super) callers: [Caller; 2],
    /// How often each caller has called.
    pub(super) calls: [u8; 2],
    /// The unknown attempt that the reconciler has read.
    pub(super) reconciler: Option<u8>,
    pub(super) settled: u8,
    /// The number of accepted results.
    pub(super) results: u8,
    /// The number of bodies started, and how often a body was allowed to start again.
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

    /// Returns the id of a caller's current attempt.
    pub(super) fn id(&self, who: usize) -> u8 {
        10 * (u8::from(who == 1) + 1) + self.calls[who]
    }

    pub(super) fn may_ask(&self, who: usize) -> bool {
        self.calls[who] < CALLS
    }

    /// Reads the record and decides by the library's own function.
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
        let lookup = Lookup {
            record,
            lock: Lock::Granted,
            now: Timestamp::from_micros(self.now),
        };
        let input = DecideInput {
            namespace: "n",
            operation,
            request: None,
            fingerprint: None,
            expiry: Expiry::Replay,
            lease_holder: Some(LeaseHolder {
                attempt_id: attempt(self.id(who)),
                on_lapse: rules.on_lapse,
                takes_over: None,
            }),
            opener: None,
        };
        decide(lookup, input)
    }

    /// Makes a change if the fence permits it; `becomes` is the attempt id of the record
    /// afterwards.
    pub(super) fn change(
        &mut self,
        change: Change,
        expected: u8,
        becomes: u8,
        rules: Rules,
    ) -> bool {
        let now = Timestamp::from_micros(self.now);
        let Some(row) = &mut self.row else {
            return false;
        };
        if !(rules.permits)(change, &record(row), attempt(expected), now) {
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
                // The bound keeps the number of states finite; no more than 9 bodies can start.
                self.freed = (self.freed + 1).min(9);
            }
        }
        if row.status == Status::Released && rules.release_deletes {
            self.row = None;
        }
        true
    }

    /// Replaces the record by one in progress.
    pub(super) fn store_record(&mut self, id: u8, operation: usize, attempt: i32) {
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
