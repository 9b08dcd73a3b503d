//! What an attempt that requests a lease finds.

use super::*;

#[test]
fn a_lease_is_live_to_its_last_microsecond_and_lapsed_from_then_on() {
    for (locked_until, live) in [(1_000_001, true), (1_000_000, false), (999_999, false)] {
        let mut held = record(Status::InProgress);
        held.locked_until = Some(Timestamp::from_micros(locked_until));
        held.attempt = 7;
        let id = held.attempt_id;
        for on_lapse in [OnLapse::Retry, OnLapse::Unknown] {
            match decision_with(Some(held.clone()), Lock::Granted, leased(on_lapse)) {
                Decision::Refuse(Error::InFlight { retry_after, .. }) => {
                    assert!(live);
                    assert_eq!(retry_after, Duration::from_micros(1));
                }
                Decision::TakeOver { lapsed, attempt: 8 } => {
                    assert!(!live && lapsed == id && on_lapse == OnLapse::Retry);
                }
                Decision::Lapse(record) => {
                    assert!(!live && record.attempt_id == id && on_lapse == OnLapse::Unknown);
                }
                other => panic!("{other:?}"),
            }
            // The fencing rule has its boundary at the same microsecond.
            for change in [Change::TakeOver, Change::Lapse] {
                assert_eq!(change.permits(&held, id, NOW), !live);
            }
        }
    }
}

#[test]
fn a_lease_without_an_end_is_nobodys_to_take() {
    let mut held = record(Status::InProgress);
    held.locked_until = None;
    for on_lapse in [OnLapse::Retry, OnLapse::Unknown] {
        assert!(matches!(
            decision_with(Some(held.clone()), Lock::Granted, leased(on_lapse)),
            Decision::Refuse(Error::InFlight { .. })
        ));
    }
    assert!(!Change::TakeOver.permits(&held, held.attempt_id, NOW));
}

#[test]
fn an_attempt_that_takes_a_lease_over_runs_for_nothing_else() {
    let mut lapsed = record(Status::InProgress);
    lapsed.locked_until = Some(Timestamp::from_micros(10));
    let of = |takes_over| DecideInput {
        lease_holder: Some(LeaseHolder {
            attempt_id: AttemptId::random(),
            on_lapse: OnLapse::Retry,
            takes_over: Some(takes_over),
        }),
        ..input(Some(REQUEST), Expiry::Strict)
    };
    let own = of(lapsed.attempt_id);
    let decision = decision_with(Some(lapsed.clone()), Lock::Granted, own);
    assert!(matches!(decision, Decision::TakeOver { attempt: 2, .. }));
    let (mut live, mut expired) = (lapsed.clone(), record(Status::Completed));
    live.locked_until = Some(Timestamp::from_micros(9_000_000));
    let live = decision_with(Some(live), Lock::Granted, own);
    assert!(matches!(live, Decision::Refuse(Error::InFlight { .. })));
    expired.expires_at = Some(Timestamp::from_micros(10));
    let others = [
        None,
        Some(record(Status::Released)),
        Some(expired),
        Some(lapsed),
    ];
    for other in others {
        for lock in [Lock::Granted, Lock::NotAsked] {
            let decision = decision_with(other.clone(), lock, of(AttemptId::random()));
            assert!(
                matches!(decision, Decision::Refuse(Error::LeaseLost)),
                "{decision:?}"
            );
        }
    }
}

#[test]
fn a_lease_of_this_very_attempt_is_held_and_of_no_other() {
    for locked_until in [10, 1_250_000] {
        let mut held = record(Status::InProgress);
        held.locked_until = Some(Timestamp::from_micros(locked_until));
        let own = DecideInput {
            lease_holder: Some(LeaseHolder {
                attempt_id: held.attempt_id,
                on_lapse: OnLapse::Unknown,
                takes_over: None,
            }),
            ..input(Some(REQUEST), Expiry::Replay)
        };
        assert!(matches!(
            decision_with(Some(held), Lock::Granted, own),
            Decision::AlreadyHeld { attempt: 1 }
        ));
    }
}
