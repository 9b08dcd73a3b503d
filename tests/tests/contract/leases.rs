//! Lease mode on the raw store: which attempt gets a lease, and how it ends.

use std::time::Duration;

use idem_runtime::policy::{MAX_RETRY_AFTER, OnLapse};
use idem_runtime::record::Status;
use idem_runtime::store::{Outcome, Store};
use idem_runtime::{Error, Namespace, StoredFailure};
use serde_json::{Value, json};

use crate::subject::{
    LEASE, LeaseSubject, PAY, RETENTION, ask_lease, begin_run, claim, expect_replay, key, lease,
    lease_under, read, record, store,
};

const POLICIES: [OnLapse; 2] = [OnLapse::Unknown, OnLapse::Retry];

pub(crate) async fn a_lease_is_everybodys_to_see_before_its_effect<S: LeaseSubject>() {
    let subject = S::fresh().await;
    let (mut conn, mut other) = (subject.connect().await, subject.connect().await);
    let before = subject.now().await;
    let held = lease(&mut conn, OnLapse::Retry).await;
    assert_eq!(held.number(), 1);
    let found = read(&mut other).await;
    assert_eq!(found.status, Status::InProgress);
    assert_eq!(found.attempt_id, held.attempt_id());
    assert_eq!(found.expires_at, None);
    let until = found.locked_until.expect("a lease ends");
    assert!(until.since(before) >= LEASE && before.since(until).is_zero());
    assert!(until.since(subject.now().await) <= LEASE);
    match ask_lease(&mut other, OnLapse::Retry).await {
        Ok(Outcome::InFlight { retry_after }) => {
            assert!(!retry_after.is_zero() && retry_after <= MAX_RETRY_AFTER);
        }
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn a_completed_lease_replays<S: LeaseSubject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let held = lease(&mut conn, OnLapse::Unknown).await;
    let done = json!({"sent": "\u{0}é"});
    let mut bound = store.in_connection(&mut conn);
    bound.complete(&held, &done).await.unwrap();
    expect_replay(&store, &mut conn, &key("k"), &json!(1), &done).await;
    match ask_lease(&mut conn, OnLapse::Unknown).await {
        Ok(Outcome::PriorResult { value }) => assert_eq!(value, done),
        other => panic!("{other:?}"),
    }
    let found = read(&mut conn).await;
    let kept = found.expires_at.expect("a result expires");
    assert_eq!(kept.since(found.created_at), RETENTION);
    assert_eq!(found.locked_until, None);
}

pub(crate) async fn a_lease_that_failed_for_good_replays_its_failure<S: LeaseSubject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let held = lease(&mut conn, OnLapse::Unknown).await;
    let failure = StoredFailure::new("Declined", "no");
    let mut bound = store.in_connection(&mut conn);
    bound.fail(&held, &failure).await.unwrap();
    match ask_lease(&mut conn, OnLapse::Unknown).await {
        Ok(Outcome::PriorError { error }) => assert_eq!(error, failure),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn a_released_lease_is_the_next_callers_and_counts_on<S: LeaseSubject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    for number in 1..=3 {
        let held = lease(&mut conn, OnLapse::Unknown).await;
        assert_eq!(held.number(), number);
        let mut bound = store.in_connection(&mut conn);
        bound.release_lease(&held).await.unwrap();
        let found = read(&mut conn).await;
        assert_eq!((found.status, found.attempt), (Status::Released, number));
    }
    // An atomic attempt may claim the key as well, with the next number.
    record::<S, _, _>(&store, &mut conn, &key("k"), &json!(1), &json!("done")).await;
    assert_eq!(read(&mut conn).await.attempt, 4);
    assert_eq!(subject.count().await, 1);
}

pub(crate) async fn a_released_key_takes_no_other_request_and_no_other_operation<
    S: LeaseSubject,
>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    for reconciled in [false, true] {
        subject.clear().await;
        let held = lease(&mut conn, OnLapse::Retry).await;
        let mut bound = store.in_connection(&mut conn);
        if reconciled {
            bound.leave_unknown(&held).await.unwrap();
            let unknown = bound.look_up(&key("k")).await.unwrap().expect("it is");
            bound.resolve_never_happened(&unknown).await.unwrap();
        } else {
            bound.release_lease(&held).await.unwrap();
        }
        let before = read(&mut conn).await;
        for (operation, request) in [(PAY, json!(2)), ("refund", json!(1)), ("refund", json!(2))] {
            for on_lapse in POLICIES {
                let mut bound = store.in_connection(&mut conn);
                let outcome = bound
                    .begin_leased(&key("k"), operation, &request, lease_under(on_lapse))
                    .await;
                assert!(matches!(outcome, Ok(Outcome::Mismatch(_))), "{outcome:?}");
            }
            S::begin(&mut conn).await;
            let mut bound = store.in_connection(&mut conn);
            let outcome = bound.begin(&key("k"), operation, &request).await;
            assert!(matches!(outcome, Ok(Outcome::Mismatch(_))), "{outcome:?}");
            S::rollback(&mut conn).await;
        }
        let found = read(&mut conn).await;
        assert_eq!(found.attempt_id, before.attempt_id);
        assert_eq!(lease(&mut conn, OnLapse::Retry).await.number(), 2);
    }
}

pub(crate) async fn a_heartbeat_gives_the_whole_lease_again<S: LeaseSubject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let held = lease(&mut conn, OnLapse::Retry).await;
    for left in [1_000_000, 0, -1_000_000] {
        subject.end_leases_in(left).await;
        let before = subject.now().await;
        let mut bound = store.in_connection(&mut conn);
        bound.extend(&held).await.unwrap();
        let until = read(&mut conn).await.locked_until.expect("a lease ends");
        assert!(until.since(before) >= LEASE);
    }
    assert_eq!(read(&mut conn).await.attempt_id, held.attempt_id());
}

pub(crate) async fn a_live_lease_is_never_taken<S: LeaseSubject>() {
    let subject = S::fresh().await;
    let mut conn = subject.connect().await;
    let held = lease(&mut conn, OnLapse::Retry).await;
    subject.end_leases_in(60_000_000).await;
    for on_lapse in POLICIES {
        match ask_lease(&mut conn, on_lapse).await {
            Ok(Outcome::InFlight { retry_after }) => assert!(retry_after <= MAX_RETRY_AFTER),
            other => panic!("{other:?}"),
        }
        let found = read(&mut conn).await;
        assert_eq!(found.attempt_id, held.attempt_id());
        assert_eq!(found.status, Status::InProgress);
    }
}

pub(crate) async fn a_lapsed_lease_is_taken_over_under_retry<S: LeaseSubject>() {
    let subject = S::fresh().await;
    let mut conn = subject.connect().await;
    let first = lease(&mut conn, OnLapse::Retry).await;
    subject.lapse().await;
    let second = lease(&mut conn, OnLapse::Retry).await;
    assert_ne!(second.attempt_id(), first.attempt_id());
    assert_eq!(second.number(), 2);
    assert_eq!(second.external_key(), first.external_key());
    assert_eq!(read(&mut conn).await.attempt_id, second.attempt_id());
    // It is live now.
    let third = ask_lease(&mut conn, OnLapse::Retry).await;
    assert!(matches!(third, Ok(Outcome::InFlight { .. })), "{third:?}");
}

pub(crate) async fn a_lapsed_lease_is_unknown_to_all_once_one_was_told_so<S: LeaseSubject>() {
    let subject = S::fresh().await;
    let (mut conn, mut other) = (subject.connect().await, subject.connect().await);
    let held = lease(&mut conn, OnLapse::Unknown).await;
    subject.lapse().await;
    for on_lapse in [OnLapse::Unknown, OnLapse::Retry, OnLapse::Unknown] {
        match ask_lease(&mut conn, on_lapse).await {
            Err(Error::OutcomeUnknown {
                operation,
                attempt_id,
                attempt,
            }) => {
                assert_eq!(operation, PAY);
                assert_eq!(attempt_id, held.attempt_id().as_uuid());
                assert_eq!(attempt, 1);
            }
            other => panic!("{other:?}"),
        }
        let found = read(&mut other).await;
        assert_eq!(found.status, Status::Unknown);
        assert_eq!(found.expires_at, None);
    }
}

pub(crate) async fn an_atomic_attempt_never_takes_a_lease_over<S: LeaseSubject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let held = lease(&mut conn, OnLapse::Retry).await;
    for left in [60_000_000, 0, -60_000_000] {
        subject.end_leases_in(left).await;
        S::begin(&mut conn).await;
        let outcome = begin_run(&store, &mut conn, &key("k"), &json!(1)).await;
        assert!(matches!(outcome, Outcome::InFlight { .. }), "{outcome:?}");
        S::rollback(&mut conn).await;
    }
    assert_eq!(read(&mut conn).await.attempt_id, held.attempt_id());
}

pub(crate) async fn a_lease_is_not_had_while_an_atomic_attempt_runs<S: LeaseSubject>() {
    let (subject, store) = (S::fresh().await, store());
    let (mut conn, mut other) = (subject.connect().await, subject.connect().await);
    S::begin(&mut conn).await;
    let running = claim(&store, &mut conn, &key("k"), &json!(1)).await;
    let outcome = ask_lease(&mut other, OnLapse::Retry).await;
    assert!(
        matches!(outcome, Ok(Outcome::InFlight { .. })),
        "{outcome:?}"
    );
    drop(running);
    S::rollback(&mut conn).await;
    let _held = lease(&mut other, OnLapse::Retry).await;
}

pub(crate) async fn a_lease_is_neither_had_nor_ended_inside_a_transaction<S: LeaseSubject>() {
    let (subject, store) = (S::fresh().await, store());
    let (mut conn, mut inside) = (subject.connect().await, subject.connect().await);
    S::begin(&mut inside).await;
    let outcome = ask_lease(&mut inside, OnLapse::Retry).await;
    assert!(
        matches!(outcome, Err(Error::LeaseInTransaction)),
        "{outcome:?}"
    );
    assert_eq!(subject.count().await, 0);
    let held = lease(&mut conn, OnLapse::Retry).await;
    let mut bound = store.in_connection(&mut inside);
    let done = json!(1);
    for refused in [
        bound.extend(&held).await,
        bound.complete(&held, &done).await.map(drop),
        bound.release_lease(&held).await,
        bound.lapse_overdue(PAY, 1).await.map(drop),
    ] {
        assert!(
            matches!(refused, Err(Error::LeaseInTransaction)),
            "{refused:?}"
        );
    }
    S::rollback(&mut inside).await;
    assert_eq!(read(&mut conn).await.status, Status::InProgress);
}

pub(crate) async fn another_request_is_refused_whatever_became_of_the_lease<S: LeaseSubject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let held = lease(&mut conn, OnLapse::Retry).await;
    for left in [60_000_000, -1] {
        subject.end_leases_in(left).await;
        for on_lapse in POLICIES {
            let mut bound = store.in_connection(&mut conn);
            let outcome = bound
                .begin_leased(&key("k"), PAY, &json!(2), lease_under(on_lapse))
                .await;
            let Ok(Outcome::Mismatch(mismatch)) = outcome else {
                panic!("{outcome:?}");
            };
            assert_eq!(mismatch.recorded_request.unwrap().unwrap(), json!(1));
        }
    }
    let found = read(&mut conn).await;
    assert_eq!(found.attempt_id, held.attempt_id());
    assert_eq!(found.status, Status::InProgress);
}

pub(crate) async fn the_request_is_kept_from_the_claim_on<S: LeaseSubject>() {
    let subject = S::fresh().await;
    let store = Store::<Value, Value>::new(Namespace::from_static("payments"));
    let mut conn = subject.connect().await;
    let request = json!({"b": 1.0, "a": "\u{0}"});
    let mut bound = store.in_connection(&mut conn);
    let outcome = bound
        .begin_leased(&key("k"), PAY, &request, lease_under(OnLapse::Unknown))
        .await;
    let Ok(Outcome::Fresh(held)) = outcome else {
        panic!("{outcome:?}");
    };
    let kept = |bytes: Option<Vec<u8>>| {
        let bytes = bytes.expect("it is kept");
        assert_eq!(bytes, br#"{"a":"\u0000","b":1}"#);
    };
    kept(read(&mut conn).await.request);
    let mut bound = store.in_connection(&mut conn);
    bound.complete(&held, &json!(1)).await.unwrap();
    kept(read(&mut conn).await.request);
}

pub(crate) async fn one_of_many_competitors_gets_the_lease<S: LeaseSubject>() {
    let subject = S::fresh().await;
    for lapsed in [false, true] {
        if lapsed {
            subject.lapse().await;
        }
        let competitors = (0..8).map(async |_| {
            let mut conn = subject.connect().await;
            ask_lease(&mut conn, OnLapse::Retry).await
        });
        let mut fresh = 0;
        for outcome in all(competitors).await {
            match outcome {
                Ok(Outcome::Fresh(lease)) => {
                    fresh += 1;
                    assert_eq!(lease.number(), 1 + i32::from(lapsed));
                }
                Ok(Outcome::InFlight { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(fresh, 1);
    }
}

/// Runs all of them concurrently in one task.
async fn all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut waiting: Vec<_> = futures.map(|future| Some(Box::pin(future))).collect();
    let mut done = Vec::new();
    std::future::poll_fn(|context| {
        for slot in &mut waiting {
            if let Some(future) = slot
                && let std::task::Poll::Ready(output) = future.as_mut().poll(context)
            {
                done.push(output);
                *slot = None;
            }
        }
        if waiting.iter().all(Option::is_none) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    done
}

pub(crate) async fn under_strict_expiry_a_lease_takes_an_expired_records_place<S: LeaseSubject>() {
    let (subject, store) = (S::fresh().await, store().strict_expiry());
    let mut conn = subject.connect().await;
    let held = lease(&mut conn, OnLapse::Unknown).await;
    let mut bound = store.in_connection(&mut conn);
    bound.complete(&held, &json!(1)).await.unwrap();
    subject.age(RETENTION + Duration::from_secs(1)).await;
    let mut bound = store.in_connection(&mut conn);
    let outcome = bound
        .begin_leased(&key("k"), PAY, &json!(1), lease_under(OnLapse::Unknown))
        .await;
    let Ok(Outcome::Fresh(second)) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(second.number(), 2);
    let found = read(&mut conn).await;
    assert_eq!(found.status, Status::InProgress);
    assert_eq!(found.result, None);
}

pub(crate) async fn a_purge_deletes_what_was_released_and_no_lease<S: LeaseSubject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let held = lease(&mut conn, OnLapse::Unknown).await;
    subject.age(RETENTION * 100).await;
    subject.lapse().await;
    let purge = async |conn: &mut S::Conn| {
        let mut bound = store.in_connection(conn);
        bound.purge_expired(10).await.expect("purged")
    };
    assert_eq!(purge(&mut conn).await, 0);
    let mut bound = store.in_connection(&mut conn);
    bound.leave_unknown(&held).await.unwrap();
    subject.age(RETENTION * 100).await;
    assert_eq!(purge(&mut conn).await, 0);
    let mut bound = store.in_connection(&mut conn);
    let unknown = bound.look_up(&key("k")).await.unwrap().expect("it is");
    bound.resolve_never_happened(&unknown).await.unwrap();
    assert_eq!(purge(&mut conn).await, 0);
    subject.age(RETENTION * 2).await;
    assert_eq!(purge(&mut conn).await, 1);
}
