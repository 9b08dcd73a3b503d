//! Claims, and the transactions in which they are valid.

use idem_runtime::store::{RawStore, StoreClaim};
use idem_runtime::{Error, IdempotencyKey, StoredFailure};
use serde_json::json;

use crate::subject::{PAY, Subject, claim, expect_replay, key, record, store};

/// The three ways to end a claim.
const ENDS: [&str; 3] = ["commit", "fail_permanent", "fail_transient"];

async fn end<S: Subject>(
    store: &RawStore,
    conn: &mut S::Conn,
    claim: StoreClaim<S::Conn>,
    how: &str,
) -> Result<(), Error> {
    let mut bound = store.in_connection(conn);
    match how {
        "commit" => bound.commit(claim, &json!("late")).await.map(drop),
        "fail_permanent" => {
            let failure = StoredFailure::new("Late", "late");
            bound.fail_permanent(claim, &failure).await
        }
        _ => bound.fail_transient(claim).await,
    }
}

pub(crate) async fn a_claim_is_good_only_in_the_transaction_that_made_it<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let mut conn = subject.connect().await;
    for how in ENDS {
        for committed in [true, false] {
            S::begin(&mut conn).await;
            let claim = claim(&store, &mut conn, &key, &json!(1)).await;
            if committed {
                S::commit(&mut conn).await;
            } else {
                S::rollback(&mut conn).await;
            }
            let error = end::<S>(&store, &mut conn, claim, how).await.unwrap_err();
            assert!(matches!(error, Error::TransactionEnded), "{how}: {error:?}");
            assert_eq!(subject.count().await, 0, "{how}");
        }
    }
}

pub(crate) async fn a_claim_is_not_good_in_the_next_transaction<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let mut conn = subject.connect().await;
    for how in ENDS {
        S::begin(&mut conn).await;
        let claim = claim(&store, &mut conn, &key, &json!(1)).await;
        S::commit(&mut conn).await;
        S::begin(&mut conn).await;
        let error = end::<S>(&store, &mut conn, claim, how).await.unwrap_err();
        assert!(matches!(error, Error::TransactionEnded), "{how}: {error:?}");
        S::commit(&mut conn).await;
        assert_eq!(subject.count().await, 0, "{how}");
    }
}

pub(crate) async fn the_same_key_nested_is_refused_and_the_outer_claim_stands<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let mut conn = subject.connect().await;
    S::begin(&mut conn).await;
    let outer = claim(&store, &mut conn, &key, &json!(1)).await;
    for operation in [PAY, "refund"] {
        let mut bound = store.in_transaction(&mut conn).unwrap();
        let error = bound.begin(&key, operation, &json!(1)).await.unwrap_err();
        assert!(matches!(error, Error::NestedSameKey), "{error:?}");
    }
    let mut bound = store.in_transaction(&mut conn).unwrap();
    bound.commit(outer, &json!("outer")).await.unwrap();
    S::commit(&mut conn).await;
    expect_replay(&store, &mut conn, &key, &json!(1), &json!("outer")).await;
}

pub(crate) async fn claims_of_one_transaction_are_ended_last_first<S: Subject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let outer = key("order");
    let inner: IdempotencyKey = outer.child("mail").unwrap();
    S::begin(&mut conn).await;
    let first = claim(&store, &mut conn, &outer, &json!(1)).await;
    let second = claim(&store, &mut conn, &inner, &json!(1)).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    bound.commit(second, &json!("inner")).await.unwrap();
    bound.commit(first, &json!("outer")).await.unwrap();
    S::commit(&mut conn).await;
    expect_replay(&store, &mut conn, &outer, &json!(1), &json!("outer")).await;
    expect_replay(&store, &mut conn, &inner, &json!(1), &json!("inner")).await;
}

pub(crate) async fn in_transaction_refuses_a_connection_without_one<S: Subject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    assert!(matches!(
        store.in_transaction(&mut conn),
        Err(Error::NotInTransaction)
    ));
    S::begin(&mut conn).await;
    assert!(store.in_transaction(&mut conn).is_ok());
    S::commit(&mut conn).await;
    assert!(matches!(
        store.in_transaction(&mut conn),
        Err(Error::NotInTransaction)
    ));
}

pub(crate) async fn in_connection_answers_replays_without_a_transaction<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let mut conn = subject.connect().await;
    record::<S, _, _>(&store, &mut conn, &key, &json!(1), &json!("one")).await;
    // It works repeatedly: nothing is held in between.
    for _ in 0..2 {
        let mut conn = subject.connect().await;
        expect_replay(&store, &mut conn, &key, &json!(1), &json!("one")).await;
    }
}

pub(crate) async fn in_connection_refuses_a_fresh_key_without_a_transaction<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let (mut conn, mut other) = (subject.connect().await, subject.connect().await);
    for _ in 0..2 {
        let mut bound = store.in_connection(&mut conn);
        let error = bound.begin(&key, PAY, &json!(1)).await.unwrap_err();
        assert!(matches!(error, Error::NotInTransaction), "{error:?}");
    }
    assert_eq!(subject.count().await, 0);
    record::<S, _, _>(&store, &mut other, &key, &json!(1), &json!("one")).await;
}

pub(crate) async fn a_key_without_a_scope_is_refused_and_nothing_is_written<S: Subject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    let nobodys: IdempotencyKey = "k".parse().unwrap();
    S::begin(&mut conn).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    match bound.begin(&nobodys, PAY, &json!(1)).await.unwrap_err() {
        Error::ScopeMissing { operation } => assert_eq!(operation, PAY),
        other => panic!("{other:?}"),
    }
    let error = bound.get(&nobodys).await.unwrap_err();
    assert!(matches!(error, Error::ScopeMissing { .. }), "{error:?}");
    // The transaction is usable.
    let claim = claim(&store, &mut conn, &key("k"), &json!(1)).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    bound.fail_transient(claim).await.unwrap();
    S::commit(&mut conn).await;
    assert_eq!(subject.count().await, 0);
}

pub(crate) async fn a_competitors_record_is_never_overwritten<S: Subject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    record::<S, _, _>(&store, &mut conn, &key("model"), &json!(1), &json!("rival")).await;
    S::begin(&mut conn).await;
    let claim = claim(&store, &mut conn, &key("k"), &json!(1)).await;
    subject.competitor(&mut conn, "model", "k").await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    let error = bound.commit(claim, &json!("ours")).await.unwrap_err();
    assert!(matches!(error, Error::FreshTransactionNeeded), "{error:?}");
    assert!(error.is_retryable());
    S::rollback(&mut conn).await;
}
