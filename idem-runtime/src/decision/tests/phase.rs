//! The phase of a key, held against what a call decides.

use super::*;

/// Every record of every status, before and after the end of its lease, and none.
fn records() -> Vec<Option<Record>> {
    let statuses = [
        Status::Completed,
        Status::Failed,
        Status::InProgress,
        Status::Unknown,
        Status::Released,
    ];
    let mut all = vec![None];
    for status in statuses {
        all.push(Some(record(status)));
        let lapsed = Some(Timestamp::from_micros(1_000_000));
        all.push(Some(Record {
            locked_until: record(status).locked_until.and(lapsed),
            ..record(status)
        }));
    }
    all
}

#[test]
fn a_key_is_in_flight_or_lapsed_exactly_if_a_call_finds_it_so() {
    for lock in [Lock::Granted, Lock::Refused, Lock::NotAsked] {
        for record in records() {
            let lookup = Lookup {
                record,
                lock,
                now: NOW,
            };
            let status = lookup.record.as_ref().map(|record| record.status);
            let phase = Phase::of(&lookup);
            let leased = decide(lookup, leased(OnLapse::Retry));
            match phase {
                Phase::Lapsed => {
                    assert!(matches!(leased, Decision::TakeOver { .. }), "{leased:?}");
                }
                // A call replays what is recorded, also while another attempt is to replace it.
                Phase::InFlight if matches!(status, Some(Status::Completed | Status::Failed)) => {
                    assert!(matches!(lock, Lock::Refused));
                }
                Phase::InFlight => assert!(
                    matches!(leased, Decision::Refuse(Error::InFlight { .. })),
                    "{leased:?}"
                ),
                Phase::Free => assert!(
                    !matches!(
                        leased,
                        Decision::Refuse(Error::InFlight { .. }) | Decision::TakeOver { .. }
                    ),
                    "{leased:?}"
                ),
            }
        }
    }
}
