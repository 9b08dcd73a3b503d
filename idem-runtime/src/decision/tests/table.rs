//! The table of ARCHITECTURE.md, "The decision", written down once more: every combination of a record,
//! a request, a lock and a clock is decided by the first row that fits.

use super::*;
use crate::values::payload::{result_bytes, stored_failure};

/// A combination.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each answers a question of the table"
)]
#[derive(Debug, Clone, Copy)]
struct Case {
    /// The stored status; `None` if there is no record.
    code: Option<i16>,
    /// Whether its retention, or its lease, is over.
    is_over: bool,
    expiry: Expiry,
    knows_version: bool,
    knows_codec: bool,
    compared: Compared,
    same_operation: bool,
    lock: Lock,
    mode: Mode,
    /// Whether the record is of the very attempt that asks.
    own: bool,
}

/// What is known of the two requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compared {
    Same,
    Different,
    /// The operation compared none when the record was written.
    NotThen,
    /// It compares none now.
    NotNow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Atomic,
    Leased(OnLapse),
}

/// A decision, in the words of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    UnknownState(&'static str),
    Mismatch,
    Replay,
    ReplayFailure,
    OutcomeUnknown,
    InFlight,
    TakeOver,
    Lapse,
    AlreadyHeld,
    Nested,
    NotInTransaction,
    Run { replaces: bool },
}

const COMPLETED: i16 = 1;
const FAILED: i16 = 2;
const IN_PROGRESS: i16 = 3;
const UNKNOWN: i16 = 4;
const RELEASED: i16 = 5;
/// The number of the recorded attempt.
const NUMBER: i32 = 7;

impl Case {
    fn is(&self, codes: &[i16]) -> bool {
        self.code.is_some_and(|code| codes.contains(&code))
    }

    /// The rows of the table from the top.
    fn expected(&self) -> Verdict {
        let differs = self.compared == Compared::Different || !self.same_operation;
        let leased = self.mode != Mode::Atomic;
        let in_progress = self.is(&[IN_PROGRESS]);
        let lapsed = in_progress && self.is_over;
        let replaced = self.is_none(true);
        let rows = [
            (
                self.code.is_some_and(|code| !(1..=5).contains(&code)),
                Verdict::UnknownState("status"),
            ),
            (
                self.is(&[COMPLETED, FAILED, RELEASED])
                    && self.is_over
                    && self.expiry == Expiry::Strict,
                replaced,
            ),
            (
                self.code.is_some() && !self.knows_version && self.compared != Compared::NotNow,
                Verdict::UnknownState("fingerprint version"),
            ),
            (self.code.is_some() && differs, Verdict::Mismatch),
            (
                self.is(&[COMPLETED, FAILED]) && !self.knows_codec,
                Verdict::UnknownState("codec"),
            ),
            (self.is(&[RELEASED]), replaced),
            (self.is(&[COMPLETED]), Verdict::Replay),
            (self.is(&[FAILED]), Verdict::ReplayFailure),
            (self.is(&[UNKNOWN]), Verdict::OutcomeUnknown),
            (in_progress && self.own && leased, Verdict::AlreadyHeld),
            (in_progress && !self.is_over, Verdict::InFlight),
            (lapsed && self.mode == Mode::Atomic, Verdict::InFlight),
            (
                lapsed && self.mode == Mode::Leased(OnLapse::Retry),
                Verdict::TakeOver,
            ),
            (
                lapsed && self.mode == Mode::Leased(OnLapse::Unknown),
                Verdict::Lapse,
            ),
            (true, self.is_none(false)),
        ];
        let first = rows.iter().find(|(fits, _)| *fits);
        first.expect("the last row fits").1
    }

    /// The rows of a key without a record, or whose record counts as none.
    fn is_none(&self, replaces: bool) -> Verdict {
        match self.lock {
            Lock::Nested => Verdict::Nested,
            Lock::Refused => Verdict::InFlight,
            Lock::NoTransaction => Verdict::NotInTransaction,
            Lock::Granted | Lock::NotAsked => Verdict::Run { replaces },
        }
    }

    /// The library's own, from the stored status to what would be replayed.
    fn decided(&self) -> Verdict {
        let status = match self.code.map(Status::from_code).transpose() {
            Ok(status) => status,
            Err(error) => return refused(&error),
        };
        let attempt_id = AttemptId::random();
        let stored = status.map(|status| self.record(status, attempt_id));
        let seen_id = stored.as_ref().map(|record| record.attempt_id);
        let request: &[u8] = if self.compared == Compared::Different {
            br#"{"amount":6}"#
        } else {
            REQUEST
        };
        let input = DecideInput {
            lease_holder: match self.mode {
                Mode::Atomic => None,
                Mode::Leased(on_lapse) => Some(LeaseHolder {
                    attempt_id,
                    on_lapse,
                    takes_over: None,
                }),
            },
            ..input(
                (self.compared != Compared::NotNow).then_some(request),
                self.expiry,
            )
        };
        match decision_with(stored, self.lock, input) {
            Decision::Run {
                replaces, attempt, ..
            } => {
                assert_eq!(replaces, replaces.and(seen_id), "{self:?}");
                let next = replaces.map_or(1, |_| NUMBER + 1);
                assert_eq!(attempt, next, "{self:?}");
                Verdict::Run {
                    replaces: replaces.is_some(),
                }
            }
            Decision::TakeOver { lapsed, attempt } => {
                assert_eq!((Some(lapsed), attempt), (seen_id, NUMBER + 1), "{self:?}");
                Verdict::TakeOver
            }
            Decision::Lapse(record) => {
                assert_eq!(Some(record.attempt_id), seen_id, "{self:?}");
                Verdict::Lapse
            }
            Decision::AlreadyHeld { attempt } => {
                assert_eq!(attempt, NUMBER, "{self:?}");
                Verdict::AlreadyHeld
            }
            Decision::Replay(record) => {
                let read = result_bytes(&record).map(|_| Verdict::Replay);
                read.unwrap_or_else(|error| refused(&error))
            }
            Decision::ReplayFailure(record) => {
                let read = stored_failure(&record).map(|_| Verdict::ReplayFailure);
                read.unwrap_or_else(|error| refused(&error))
            }
            Decision::Refuse(error) => refused(&error),
        }
    }

    fn record(&self, status: Status, attempt_id: AttemptId) -> Record {
        let mut record = record(status);
        let end = Timestamp::from_micros(if self.is_over { 1_000_000 } else { 1_000_001 });
        record.expires_at = record.expires_at.map(|_| end);
        record.locked_until = record.locked_until.map(|_| end);
        if self.own {
            record.attempt_id = attempt_id;
        }
        record.attempt = NUMBER;
        if !self.knows_version {
            record.fingerprint_version = FINGERPRINT_VERSION + 1;
        }
        if !self.knows_codec {
            record.codec = CODEC_JSON + 1;
        }
        if self.compared == Compared::NotThen {
            record.fingerprint = None;
        }
        if !self.same_operation {
            "refund".clone_into(&mut record.operation);
            // Another operation's fingerprint of the same request is another.
            record.fingerprint = record.fingerprint.and_then(|_| {
                Fingerprint::compute(FINGERPRINT_VERSION, "payments", "refund", REQUEST)
            });
        }
        record.failure = Some(br#"{"class":"Declined","message":"","data":null}"#.to_vec());
        record
    }
}

fn refused(error: &Error) -> Verdict {
    match error {
        Error::UnknownState { what, .. } => Verdict::UnknownState(what),
        Error::Mismatch(_) => Verdict::Mismatch,
        Error::OutcomeUnknown { attempt, .. } => {
            assert_eq!(*attempt, NUMBER);
            Verdict::OutcomeUnknown
        }
        Error::InFlight { retry_after, .. } => {
            assert!(!retry_after.is_zero());
            Verdict::InFlight
        }
        Error::NestedSameKey => Verdict::Nested,
        Error::NotInTransaction => Verdict::NotInTransaction,
        error => panic!("in no row: {error:?}"),
    }
}

/// Every case of a record with this status, or of none.
fn cases(code: Option<i16>) -> Vec<Case> {
    const COMPARED: [Compared; 4] = [
        Compared::Same,
        Compared::Different,
        Compared::NotThen,
        Compared::NotNow,
    ];
    const MODES: [Mode; 3] = [
        Mode::Atomic,
        Mode::Leased(OnLapse::Retry),
        Mode::Leased(OnLapse::Unknown),
    ];
    let mut cases = Vec::new();
    for lock in LOCKS {
        for compared in COMPARED {
            for mode in MODES {
                // Each bit answers one of the questions that have two answers.
                for bits in 0..64_u8 {
                    let yes = |position: u8| bits & (1 << position) != 0;
                    cases.push(Case {
                        code,
                        is_over: yes(0),
                        expiry: if yes(1) {
                            Expiry::Strict
                        } else {
                            Expiry::Replay
                        },
                        knows_version: yes(2),
                        knows_codec: yes(3),
                        compared,
                        same_operation: yes(4),
                        lock,
                        mode,
                        own: yes(5),
                    });
                }
            }
        }
    }
    cases
}

#[test]
fn the_first_row_of_the_table_that_fits_decides() {
    let codes = [None].into_iter().chain((-1..=7).map(Some));
    let mut rows = std::collections::HashMap::<_, u32>::new();
    for case in codes.flat_map(cases) {
        let expected = case.expected();
        assert_eq!(case.decided(), expected, "{case:?}");
        *rows.entry(format!("{expected:?}")).or_default() += 1;
    }
    // All three unknown states, ten other answers, and a run in the place of none and of a record.
    assert_eq!(rows.len(), 15, "{rows:?}");
}
