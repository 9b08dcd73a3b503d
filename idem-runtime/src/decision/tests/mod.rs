//! Tests of the decision without a database.

use std::time::Duration;

use super::decide::retry_after;
use super::*;
use crate::values::error::Error;
use crate::values::fingerprint::{FINGERPRINT_VERSION, Fingerprint};
use crate::values::policy::{DEFAULT_RETRY_AFTER, Expiry, MAX_RETRY_AFTER, OnLapse};
use crate::values::record::{AttemptId, CODEC_JSON, Record, Status, Timestamp};

mod lease;
mod phase;
mod table;

const NOW: Timestamp = Timestamp::from_micros(1_000_000);
const REQUEST: &[u8] = br#"{"amount":5}"#;

/// The input of an attempt that requests a lease.
fn leased(on_lapse: OnLapse) -> DecideInput<'static> {
    DecideInput {
        lease_holder: Some(LeaseHolder {
            attempt_id: AttemptId::random(),
            on_lapse,
            takes_over: None,
        }),
        ..input(Some(REQUEST), Expiry::Replay)
    }
}

fn input(request: Option<&[u8]>, expiry: Expiry) -> DecideInput<'_> {
    DecideInput {
        namespace: "payments",
        operation: "pay",
        request,
        fingerprint: None,
        expiry,
        lease_holder: None,
        opener: None,
    }
}

fn record(status: Status) -> Record {
    let lease = matches!(status, Status::InProgress | Status::Unknown);
    Record {
        created_at: Timestamp::from_micros(0),
        expires_at: (!lease).then_some(Timestamp::from_micros(2_000_000)),
        locked_until: lease.then_some(Timestamp::from_micros(1_250_000)),
        attempt_id: AttemptId::random(),
        attempt: 1,
        status,
        fingerprint_version: FINGERPRINT_VERSION,
        codec: CODEC_JSON,
        operation: "pay".to_owned(),
        fingerprint: Fingerprint::compute(FINGERPRINT_VERSION, "payments", "pay", REQUEST),
        request: None,
        request_too_large: false,
        result: Some(b"1".to_vec()),
        failure: None,
    }
}

fn decision_on(record: Option<Record>, lock: Lock) -> Decision {
    decision_with(record, lock, input(Some(REQUEST), Expiry::Replay))
}

fn decision_with(record: Option<Record>, lock: Lock, input: DecideInput<'_>) -> Decision {
    let lookup = Lookup {
        record,
        lock,
        now: NOW,
    };
    decide(lookup, input)
}

const LOCKS: [Lock; 5] = [
    Lock::Granted,
    Lock::Refused,
    Lock::Nested,
    Lock::NotAsked,
    Lock::NoTransaction,
];

#[test]
fn without_a_record_the_lock_decides() {
    assert!(matches!(
        decision_on(None, Lock::Granted),
        Decision::Run {
            replaces: None,
            attempt: 1,
            before: KeyBefore::Unused,
        }
    ));
    assert!(matches!(
        decision_on(None, Lock::Refused),
        Decision::Refuse(Error::InFlight { .. })
    ));
    assert!(matches!(
        decision_on(None, Lock::Nested),
        Decision::Refuse(Error::NestedSameKey)
    ));
    assert!(matches!(
        decision_on(None, Lock::NoTransaction),
        Decision::Refuse(Error::NotInTransaction)
    ));
}

#[test]
fn a_record_decides_whatever_the_lock_said() {
    for lock in LOCKS {
        assert!(matches!(
            decision_on(Some(record(Status::Completed)), lock),
            Decision::Replay(_)
        ));
        assert!(matches!(
            decision_on(Some(record(Status::Failed)), lock),
            Decision::ReplayFailure(_)
        ));
        assert!(matches!(
            decision_on(Some(record(Status::Unknown)), lock),
            Decision::Refuse(Error::OutcomeUnknown { .. })
        ));
        assert!(matches!(
            decision_on(Some(record(Status::InProgress)), lock),
            Decision::Refuse(Error::InFlight { .. })
        ));
    }
}

#[test]
fn a_different_request_is_refused_before_anything_is_replayed() {
    for lock in LOCKS {
        for status in [
            Status::Completed,
            Status::Failed,
            Status::Unknown,
            Status::InProgress,
            Status::Released,
        ] {
            let other = input(Some(br#"{"amount":6}"#), Expiry::Replay);
            let decision = decision_with(Some(record(status)), lock, other);
            let Decision::Refuse(Error::Mismatch(mismatch)) = decision else {
                panic!("{status:?} under {lock:?}: {decision:?}");
            };
            assert_ne!(mismatch.recorded_hash, mismatch.submitted_hash);
        }
    }
}

#[test]
fn another_operation_is_refused_even_when_no_request_is_compared() {
    let elsewhere = DecideInput {
        operation: "refund",
        ..input(None, Expiry::Replay)
    };
    for status in [Status::Completed, Status::InProgress, Status::Released] {
        let decision = decision_with(Some(record(status)), Lock::Granted, elsewhere);
        assert!(
            matches!(decision, Decision::Refuse(Error::Mismatch(_))),
            "{status:?}: {decision:?}"
        );
    }
}

#[test]
fn an_operation_that_stopped_comparing_keeps_its_old_keys() {
    let decision = decision_with(
        Some(record(Status::Completed)),
        Lock::Granted,
        input(None, Expiry::Replay),
    );
    assert!(matches!(decision, Decision::Replay(_)));
    let mut uncompared = record(Status::Completed);
    uncompared.fingerprint = None;
    assert!(matches!(
        decision_on(Some(uncompared), Lock::Granted),
        Decision::Replay(_)
    ));
}

#[test]
fn a_fingerprint_that_is_known_already_decides_as_the_request_does() {
    for request in [REQUEST, b"{}"] {
        let known = DecideInput {
            fingerprint: Fingerprint::compute(FINGERPRINT_VERSION, "payments", "pay", request),
            ..input(Some(request), Expiry::Replay)
        };
        let decision = decision_with(Some(record(Status::Completed)), Lock::Granted, known);
        assert_eq!(
            matches!(decision, Decision::Replay(_)),
            request == REQUEST,
            "{decision:?}"
        );
    }
}

#[test]
fn a_fingerprint_that_is_known_already_is_none_of_another_version() {
    let mut newer = record(Status::Completed);
    newer.fingerprint_version = FINGERPRINT_VERSION + 1;
    let known = DecideInput {
        fingerprint: newer.fingerprint,
        ..input(Some(REQUEST), Expiry::Replay)
    };
    let decision = decision_with(Some(newer), Lock::Granted, known);
    assert!(
        matches!(decision, Decision::Refuse(Error::UnknownState { .. })),
        "{decision:?}"
    );
}

#[test]
fn a_fingerprint_of_an_unknown_version_is_an_error_and_never_a_run() {
    let mut newer = record(Status::Completed);
    newer.fingerprint_version = FINGERPRINT_VERSION + 1;
    assert!(matches!(
        decision_on(Some(newer), Lock::Granted),
        Decision::Refuse(Error::UnknownState {
            what: "fingerprint version",
            ..
        })
    ));
}

#[test]
fn an_expired_record_replays_unless_expiry_is_strict() {
    for (expires_at, reclaimable) in [(1_000_000, true), (999_999, true), (1_000_001, false)] {
        let mut record = record(Status::Completed);
        record.expires_at = Some(Timestamp::from_micros(expires_at));
        record.attempt = 3;
        let id = record.attempt_id;
        assert!(matches!(
            decision_on(Some(record.clone()), Lock::Granted),
            Decision::Replay(_)
        ));
        let strict = input(Some(REQUEST), Expiry::Strict);
        match decision_with(Some(record), Lock::Granted, strict) {
            Decision::Run {
                replaces: Some(replaces),
                attempt: 4,
                before: KeyBefore::Expired,
            } => assert!(reclaimable && replaces == id),
            Decision::Replay(_) => assert!(!reclaimable),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_reclaimable_record_still_waits_for_the_lock() {
    let strict = input(Some(REQUEST), Expiry::Strict);
    let mut expired = record(Status::Completed);
    expired.expires_at = Some(NOW);
    assert!(matches!(
        decision_with(Some(expired), Lock::Refused, strict),
        Decision::Refuse(Error::InFlight { .. })
    ));
}

#[test]
fn a_lease_never_expires_and_is_never_taken_over_here() {
    let strict = input(Some(REQUEST), Expiry::Strict);
    for (locked_until, retry_after) in [
        (1_250_000, Duration::from_millis(250)),
        (1_000_000, DEFAULT_RETRY_AFTER),
        (10, DEFAULT_RETRY_AFTER),
    ] {
        let mut leased = record(Status::InProgress);
        leased.locked_until = Some(Timestamp::from_micros(locked_until));
        match decision_with(Some(leased), Lock::Granted, strict) {
            Decision::Refuse(Error::InFlight {
                retry_after: found, ..
            }) => {
                assert_eq!(found, retry_after);
            }
            other => panic!("{other:?}"),
        }
    }
    let mut unknown = record(Status::Unknown);
    unknown.locked_until = Some(Timestamp::from_micros(10));
    assert!(matches!(
        decision_with(Some(unknown), Lock::Granted, strict),
        Decision::Refuse(Error::OutcomeUnknown { .. })
    ));
}

#[test]
fn a_released_record_counts_as_absent_for_its_own_request_and_is_replaced() {
    let released = record(Status::Released);
    let id = released.attempt_id;
    assert!(matches!(
        decision_on(Some(released), Lock::Granted),
        Decision::Run { replaces: Some(replaces), attempt: 2, before: KeyBefore::Released } if replaces == id
    ));
}

#[test]
fn a_released_record_is_free_for_another_request_once_a_strict_retention_is_over() {
    let other = input(Some(br#"{"amount":6}"#), Expiry::Strict);
    for (expires_at, free) in [(1_000_000, true), (1_000_001, false)] {
        let mut released = record(Status::Released);
        released.expires_at = Some(Timestamp::from_micros(expires_at));
        let id = released.attempt_id;
        match decision_with(Some(released), Lock::Granted, other) {
            Decision::Run {
                replaces: Some(replaces),
                attempt: 2,
                before: KeyBefore::Expired,
            } => assert!(free && replaces == id),
            Decision::Refuse(Error::Mismatch(_)) => assert!(!free),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_released_record_of_an_unknown_fingerprint_version_is_an_error_and_never_a_run() {
    let mut newer = record(Status::Released);
    newer.fingerprint_version = FINGERPRINT_VERSION + 1;
    let decision = decision_on(Some(newer), Lock::Granted);
    assert!(
        matches!(decision, Decision::Refuse(Error::UnknownState { .. })),
        "{decision:?}"
    );
}

#[test]
fn a_caller_is_asked_to_wait_longer_the_older_the_attempt_and_never_beyond_its_lease_or_a_bound() {
    let (lease, mut last) = (Duration::from_mins(5), Duration::ZERO);
    for age in (0..20_000).step_by(100).map(Duration::from_millis) {
        let wait = retry_after(age, lease);
        assert!(wait >= last && wait >= DEFAULT_RETRY_AFTER && wait <= MAX_RETRY_AFTER);
        assert!(wait <= age.max(DEFAULT_RETRY_AFTER), "{age:?}: {wait:?}");
        last = wait;
        let short = Duration::from_millis(250);
        assert_eq!(retry_after(age, short), short);
    }
    assert_eq!(last, MAX_RETRY_AFTER);
}
