//! The outcomes of looking a key up in the store.

use idem_runtime::StoredFailure;
use idem_runtime::record::Status;
use idem_runtime::store::{Outcome, Session, StoreClaim};
use serde_json::{Value, json};

use crate::subject::{
    PAY, RETENTION, Subject, begin_run, claim, expect_replay, key, record, store,
};

pub(crate) async fn a_fresh_key_is_claimed_and_nobody_sees_it_before_commit<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let (mut conn, mut other) = (subject.connect().await, subject.connect().await);
    S::begin(&mut conn).await;
    let claim = claim(&store, &mut conn, &key, &json!(1)).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    bound.commit(claim, &json!("done")).await.unwrap();
    let observed = store.in_connection(&mut other).get(&key).await.unwrap();
    assert!(observed.is_none(), "{observed:?}");
    S::commit(&mut conn).await;
    let observed = store.in_connection(&mut other).get(&key).await.unwrap();
    assert!(observed.is_some());
}

pub(crate) async fn the_result_is_replayed_once_it_is_committed<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let (mut conn, mut other) = (subject.connect().await, subject.connect().await);
    let (request, result) = (json!({"amount": 5}), json!({"id": 17, "note": null}));
    record::<S, _, _>(&store, &mut conn, &key, &request, &result).await;
    for conn in [&mut conn, &mut other] {
        expect_replay(&store, conn, &key, &request, &result).await;
        S::begin(conn).await;
        let mut bound = store.in_transaction(conn).unwrap();
        match bound.begin(&key, PAY, &request).await.unwrap() {
            Outcome::PriorResult { value } => assert_eq!(value, result),
            other => panic!("{other:?}"),
        }
        S::rollback(conn).await;
    }
    assert_eq!(subject.count().await, 1);
}

pub(crate) async fn a_transaction_sees_its_own_record<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let mut conn = subject.connect().await;
    S::begin(&mut conn).await;
    let claim = claim(&store, &mut conn, &key, &json!(1)).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    bound.commit(claim, &json!("done")).await.unwrap();
    expect_replay(&store, &mut conn, &key, &json!(1), &json!("done")).await;
    S::rollback(&mut conn).await;
    assert_eq!(subject.count().await, 0);
}

pub(crate) async fn a_permanent_failure_is_replayed_whole<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let mut conn = subject.connect().await;
    let failure = StoredFailure::new("Declined", "the card was declined")
        .with_cause("insufficient funds")
        .with_data(json!({"code": 51}));
    S::begin(&mut conn).await;
    let claim = claim(&store, &mut conn, &key, &json!(1)).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    bound.fail_permanent(claim, &failure).await.unwrap();
    S::commit(&mut conn).await;
    match begin_run(&store, &mut conn, &key, &json!(1)).await {
        Outcome::PriorError { error } => assert_eq!(error, failure),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn an_attempt_in_flight_is_answered_at_once<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let (mut first, mut second) = (subject.connect().await, subject.connect().await);
    S::begin(&mut first).await;
    let claim = claim(&store, &mut first, &key, &json!(1)).await;
    S::begin(&mut second).await;
    let mut bound = store.in_transaction(&mut second).unwrap();
    match bound.begin(&key, PAY, &json!(1)).await.unwrap() {
        Outcome::InFlight { retry_after } => assert!(!retry_after.is_zero()),
        other => panic!("{other:?}"),
    }
    S::rollback(&mut second).await;
    let mut bound = store.in_transaction(&mut first).unwrap();
    bound.commit(claim, &json!("done")).await.unwrap();
    S::commit(&mut first).await;
    expect_replay(&store, &mut second, &key, &json!(1), &json!("done")).await;
}

pub(crate) async fn a_key_given_back_is_fresh_for_whoever_asks_next<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let (mut conn, mut other) = (subject.connect().await, subject.connect().await);
    S::begin(&mut conn).await;
    for request in [1, 2] {
        let claim = claim(&store, &mut conn, &key, &json!(request)).await;
        let mut bound = store.in_transaction(&mut conn).unwrap();
        bound.fail_transient(claim).await.unwrap();
    }
    S::commit(&mut conn).await;
    assert_eq!(subject.count().await, 0);
    record::<S, _, _>(&store, &mut other, &key, &json!(3), &json!("done")).await;
}

pub(crate) async fn a_rollback_makes_the_key_fresh<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let (mut conn, mut other) = (subject.connect().await, subject.connect().await);
    for recorded in [false, true] {
        S::begin(&mut conn).await;
        let claim = claim(&store, &mut conn, &key, &json!(1)).await;
        let mut bound = store.in_transaction(&mut conn).unwrap();
        if recorded {
            bound.commit(claim, &json!("undone")).await.unwrap();
        }
        S::rollback(&mut conn).await;
        assert_eq!(subject.count().await, 0);
    }
    record::<S, _, _>(&store, &mut other, &key, &json!(2), &json!("done")).await;
}

pub(crate) async fn an_operator_reads_what_was_recorded<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let mut conn = subject.connect().await;
    assert!(
        store
            .in_connection(&mut conn)
            .get(&key)
            .await
            .unwrap()
            .is_none()
    );
    S::begin(&mut conn).await;
    let claim = claim(&store, &mut conn, &key, &json!(1)).await;
    let attempt_id = claim.attempt_id();
    let mut bound = store.in_transaction(&mut conn).unwrap();
    bound.commit(claim, &json!({"id": 17})).await.unwrap();
    S::commit(&mut conn).await;
    subject.age(RETENTION * 2).await;
    let found = store.in_connection(&mut conn).get(&key).await.unwrap();
    let found = found.expect("expired, and there");
    assert_eq!(found.status, Status::Completed);
    assert_eq!(found.operation, PAY);
    assert_eq!(found.attempt, 1);
    assert_eq!(found.attempt_id, attempt_id);
    assert_eq!(found.result.as_deref(), Some(br#"{"id":17}"#.as_slice()));
    assert_eq!((found.request, found.failure), (None, None));
    assert!(found.fingerprint.is_some());
}

fn wire<S: Session>(outcome: &Outcome<StoreClaim<S>, Value, Value>) -> Value {
    serde_json::to_value(outcome).expect("an outcome can be sent")
}

pub(crate) async fn outcomes_are_told_apart_by_kind_and_keep_claim_and_request_at_home<
    S: Subject,
>() {
    let (subject, store) = (S::fresh().await, store().record_request());
    let (mut conn, mut other) = (subject.connect().await, subject.connect().await);

    S::begin(&mut conn).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    let fresh = bound.begin(&key("k"), PAY, &json!("secret")).await.unwrap();
    assert_eq!(wire(&fresh), json!({"kind": "fresh"}));

    S::begin(&mut other).await;
    let mut competitor = store.in_transaction(&mut other).unwrap();
    let in_flight = competitor
        .begin(&key("k"), PAY, &json!("secret"))
        .await
        .unwrap();
    let expected = json!({"kind": "in_flight", "retry_after_ms": 1000});
    assert_eq!(wire(&in_flight), expected);
    S::rollback(&mut other).await;

    let Outcome::Fresh(claim) = fresh else {
        panic!("{fresh:?}")
    };
    let mut bound = store.in_transaction(&mut conn).unwrap();
    bound.commit(claim, &json!([1])).await.unwrap();
    S::commit(&mut conn).await;
    let prior = begin_run(&store, &mut conn, &key("k"), &json!("secret")).await;
    assert_eq!(wire(&prior), json!({"kind": "prior_result", "value": [1]}));

    let mismatch = begin_run(&store, &mut conn, &key("k"), &json!("other")).await;
    let Outcome::Mismatch(found) = &mismatch else {
        panic!("{mismatch:?}")
    };
    let expected = json!({
        "kind": "mismatch",
        "recorded_operation": PAY,
        "submitted_operation": PAY,
        "recorded_hash": found.recorded_hash,
        "submitted_hash": found.submitted_hash,
    });
    assert_eq!(wire(&mismatch), expected);
    assert!(found.recorded_hash.is_some() && found.recorded_hash != found.submitted_hash);

    S::begin(&mut conn).await;
    let claim = self::claim(&store, &mut conn, &key("f"), &json!(1)).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    let failure = StoredFailure::new("Declined", "no");
    bound.fail_permanent(claim, &failure).await.unwrap();
    S::commit(&mut conn).await;
    let prior = begin_run(&store, &mut conn, &key("f"), &json!(1)).await;
    let error = json!({"class": "Declined", "message": "no"});
    assert_eq!(wire(&prior), json!({"kind": "prior_error", "error": error}));
}

pub(crate) async fn nothing_printed_shows_a_key_a_request_or_a_result<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store().record_request(), key("k-secret"));
    let mut conn = subject.connect().await;
    let (request, other) = (json!("r-secret"), json!("o-secret"));
    S::begin(&mut conn).await;
    let claim = claim(&store, &mut conn, &key, &request).await;
    let mut printed = vec![format!("{claim:?}")];
    let mut bound = store.in_transaction(&mut conn).unwrap();
    bound.commit(claim, &json!("v-secret")).await.unwrap();
    printed.push(format!("{:?}", bound.get(&key).await.unwrap()));
    for request in [request, other] {
        let outcome = bound.begin(&key, PAY, &request).await.unwrap();
        printed.push(format!("{outcome:?}"));
        if let Outcome::Mismatch(mismatch) = outcome {
            assert!(matches!(&mismatch.recorded_request, Some(Ok(_))));
            printed.push(format!("{mismatch:?}"));
        }
    }
    S::commit(&mut conn).await;
    assert_eq!(printed.len(), 5);
    let secret: Vec<u8> = b"secret".to_vec();
    let secrets = [
        "secret".to_owned(),
        format!("{secret:?}").replace(['[', ']'], ""),
    ];
    for text in printed {
        assert!(
            !secrets.iter().any(|secret| text.contains(secret)),
            "{text}"
        );
    }
}
