//! One key used for two requests.

use idem_runtime::store::{Outcome, Store, TypedMismatch};
use idem_runtime::{Error, StoredFailure};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::subject::{
    PAY, RETENTION, Subject, begin_run, claim, expect_replay, key, record, store, typed,
};

fn mismatch<C: std::fmt::Debug, Req: std::fmt::Debug, Res: std::fmt::Debug>(
    outcome: Outcome<C, Req, Res>,
) -> TypedMismatch<Req> {
    match outcome {
        Outcome::Mismatch(mismatch) => mismatch,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn another_request_is_refused_and_changes_nothing<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let mut conn = subject.connect().await;
    record::<S, _, _>(&store, &mut conn, &key, &json!(1), &json!("one")).await;
    S::begin(&mut conn).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    let found = mismatch(bound.begin(&key, PAY, &json!(2)).await.unwrap());
    S::commit(&mut conn).await;
    assert_eq!(found.recorded_operation, PAY);
    assert_eq!(found.submitted_operation, PAY);
    assert!(found.recorded_hash.is_some() && found.recorded_hash != found.submitted_hash);
    mismatch(begin_run(&store, &mut conn, &key, &json!(2)).await);
    expect_replay(&store, &mut conn, &key, &json!(1), &json!("one")).await;
    assert_eq!(subject.count().await, 1);
}

pub(crate) async fn another_operation_is_refused<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let mut conn = subject.connect().await;
    record::<S, _, _>(&store, &mut conn, &key, &json!(1), &json!("one")).await;
    let mut bound = store.in_connection(&mut conn);
    let found = mismatch(bound.begin(&key, "refund", &json!(1)).await.unwrap());
    assert_eq!(found.recorded_operation, PAY);
    assert_eq!(found.submitted_operation, "refund");
}

pub(crate) async fn the_same_request_spelt_otherwise_is_no_mismatch<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let mut conn = subject.connect().await;
    let first: Value = serde_json::from_str(r#"{"a": 1, "b": [10]}"#).unwrap();
    let second: Value = serde_json::from_str(r#"{"b": [1e1], "a": 1.0}"#).unwrap();
    record::<S, _, _>(&store, &mut conn, &key, &first, &json!("done")).await;
    expect_replay(&store, &mut conn, &key, &second, &json!("done")).await;
}

pub(crate) async fn the_recorded_request_is_shown_only_if_it_was_kept<S: Subject>() {
    let subject = S::fresh().await;
    let mut conn = subject.connect().await;
    for (name, store, kept) in [
        ("kept", store().record_request(), true),
        ("hashed", store(), false),
    ] {
        let request = json!({"b": "x", "a": 1});
        record::<S, _, _>(&store, &mut conn, &key(name), &request, &json!(0)).await;
        let found = mismatch(begin_run(&store, &mut conn, &key(name), &json!(2)).await);
        match found.recorded_request {
            Some(recorded) => assert!(kept && recorded.unwrap() == request),
            None => assert!(!kept),
        }
    }
}

pub(crate) async fn where_the_request_is_recorded_the_differing_places_are_told<S: Subject>() {
    let subject = S::fresh().await;
    let mut conn = subject.connect().await;
    let request = |cents: [u8; 2], to: &str| json!({"to": to, "lines": [{"cents": cents[0]}, {"cents": cents[1]}]});
    for (name, store, places) in [
        (
            "kept",
            store().record_request(),
            &["/lines/1/cents", "/to"][..],
        ),
        ("hashed", store(), &[]),
    ] {
        let first = request([1, 2], "secret Ada");
        record::<S, _, _>(&store, &mut conn, &key(name), &first, &json!(0)).await;
        let second = request([1, 3], "Max");
        let found = mismatch(begin_run(&store, &mut conn, &key(name), &second).await);
        assert_eq!(found.differing, places);
        assert!(!format!("{found:?}").contains("secret"));
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Pay {
    amount: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct PayInCents {
    cents: i64,
}

pub(crate) async fn a_recorded_request_that_no_longer_decodes_is_still_a_mismatch<S: Subject>() {
    let (subject, key) = (S::fresh().await, key("k"));
    let mut conn = subject.connect().await;
    let old: Store<Pay, i64> = typed().record_request();
    record::<S, _, _>(&old, &mut conn, &key, &Pay { amount: 5 }, &17).await;
    let new: Store<PayInCents, i64> = old.typed();
    let mut bound = new.in_connection(&mut conn);
    let outcome = bound.begin(&key, PAY, &PayInCents { cents: 500 }).await;
    match mismatch(outcome.unwrap()).recorded_request {
        Some(Err(Error::IncompatibleState { operation, .. })) => assert_eq!(operation, PAY),
        other => panic!("{other:?}"),
    }
    subject
        .edit("k", crate::subject::Edit::Request(b"no json"))
        .await;
    let mut bound = old.in_connection(&mut conn);
    let outcome = bound.begin(&key, PAY, &Pay { amount: 6 }).await;
    let found = mismatch(outcome.unwrap());
    assert!(matches!(
        found.recorded_request,
        Some(Err(Error::IncompatibleState { .. }))
    ));
}

pub(crate) async fn an_expired_record_is_compared_too<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let mut conn = subject.connect().await;
    record::<S, _, _>(&store, &mut conn, &key, &json!(1), &json!("one")).await;
    subject.age(RETENTION * 2).await;
    mismatch(begin_run(&store, &mut conn, &key, &json!(2)).await);
}

pub(crate) async fn a_failure_is_compared_before_it_is_replayed<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let mut conn = subject.connect().await;
    S::begin(&mut conn).await;
    let claim = claim(&store, &mut conn, &key, &json!(1)).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    let failure = StoredFailure::new("Declined", "no");
    bound.fail_permanent(claim, &failure).await.unwrap();
    S::commit(&mut conn).await;
    mismatch(begin_run(&store, &mut conn, &key, &json!(2)).await);
}
