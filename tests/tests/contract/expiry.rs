//! The retention of a record, by the database's clock.

use std::time::Duration;

use idem_runtime::Error;
use idem_runtime::error::{Field, Reason};
use idem_runtime::policy::MAX_RETENTION;
use serde_json::json;

use crate::subject::{RETENTION, Subject, claim, expect_replay, key, record, store};

pub(crate) async fn an_expired_record_replays_by_default<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store(), key("k"));
    let mut conn = subject.connect().await;
    record::<S, _, _>(&store, &mut conn, &key, &json!(1), &json!("old")).await;
    subject.age(RETENTION * 100).await;
    expect_replay(&store, &mut conn, &key, &json!(1), &json!("old")).await;
}

pub(crate) async fn under_strict_expiry_an_expired_record_is_replaced<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store().strict_expiry(), key("k"));
    let mut conn = subject.connect().await;
    record::<S, _, _>(&store, &mut conn, &key, &json!(1), &json!("old")).await;
    for attempt in 2..4 {
        subject.age(RETENTION + Duration::from_mins(1)).await;
        // A different request is accepted: the old record counts as absent.
        let request = json!(attempt);
        record::<S, _, _>(&store, &mut conn, &key, &request, &json!("new")).await;
        expect_replay(&store, &mut conn, &key, &request, &json!("new")).await;
        let found = store.in_connection(&mut conn).get(&key).await.unwrap();
        assert_eq!(found.unwrap().attempt, attempt);
        assert_eq!(subject.count().await, 1);
    }
}

pub(crate) async fn under_strict_expiry_a_rollback_leaves_the_old_record<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store().strict_expiry(), key("k"));
    let mut conn = subject.connect().await;
    record::<S, _, _>(&store, &mut conn, &key, &json!(1), &json!("old")).await;
    subject.age(RETENTION * 2).await;
    S::begin(&mut conn).await;
    let claim = claim(&store, &mut conn, &key, &json!(2)).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    bound.commit(claim, &json!("new")).await.unwrap();
    S::rollback(&mut conn).await;
    let lenient = crate::subject::store();
    expect_replay(&lenient, &mut conn, &key, &json!(1), &json!("old")).await;
}

pub(crate) async fn under_strict_expiry_a_live_record_replays<S: Subject>() {
    let (subject, store, key) = (S::fresh().await, store().strict_expiry(), key("k"));
    let mut conn = subject.connect().await;
    record::<S, _, _>(&store, &mut conn, &key, &json!(1), &json!("old")).await;
    // An hour of its retention is left by the database's clock; the clock of this process does not
    // matter.
    subject
        .age(RETENTION.saturating_sub(Duration::from_hours(1)))
        .await;
    expect_replay(&store, &mut conn, &key, &json!(1), &json!("old")).await;
}

pub(crate) async fn under_strict_expiry_a_competitors_newer_record_is_not_overwritten<
    S: Subject,
>() {
    let (subject, store, key) = (S::fresh().await, store().strict_expiry(), key("k"));
    let mut conn = subject.connect().await;
    record::<S, _, _>(&store, &mut conn, &key, &json!(1), &json!("rival")).await;
    subject.age(RETENTION * 2).await;
    S::begin(&mut conn).await;
    let claim = claim(&store, &mut conn, &key, &json!(2)).await;
    subject.competitor(&mut conn, "k", "k").await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    let error = bound.commit(claim, &json!("ours")).await.unwrap_err();
    assert!(matches!(error, Error::FreshTransactionNeeded), "{error:?}");
    expect_replay(&store, &mut conn, &key, &json!(1), &json!("rival")).await;
    S::rollback(&mut conn).await;
}

pub(crate) async fn times_are_those_of_the_databases_clock<S: Subject>() {
    let retention = Duration::from_secs(90);
    let store = store().retention(retention).unwrap();
    let (subject, key) = (S::fresh().await, key("k"));
    let mut conn = subject.connect().await;
    let before = subject.now().await;
    record::<S, _, _>(&store, &mut conn, &key, &json!(1), &json!(1)).await;
    let after = subject.now().await;
    let found = store.in_connection(&mut conn).get(&key).await.unwrap();
    let found = found.unwrap();
    assert!(before <= found.created_at && found.created_at <= after);
    let expires_at = found.expires_at.expect("a record that is no lease expires");
    assert_eq!(expires_at.since(found.created_at), retention);
}

pub(crate) async fn a_retention_has_bounds<S: Subject>() {
    let (subject, key) = (S::fresh().await, key("k"));
    let refused = store().retention(Duration::ZERO).unwrap_err();
    assert_eq!(refused.field(), &Field::Retention);
    let found = MAX_RETENTION + Duration::from_secs(1);
    let refused = store().retention(found).unwrap_err();
    let limit = MAX_RETENTION;
    assert_eq!(refused.reason(), &Reason::TooLongTime { limit, found });
    // The longest and the shortest retention are stored.
    let mut conn = subject.connect().await;
    for retention in [MAX_RETENTION, Duration::from_micros(1)] {
        let store = store().retention(retention).unwrap();
        S::begin(&mut conn).await;
        let claim = claim(&store, &mut conn, &key, &json!(1)).await;
        let mut bound = store.in_transaction(&mut conn).unwrap();
        bound.commit(claim, &json!(1)).await.unwrap();
        let found = bound.get(&key).await.unwrap().unwrap();
        let kept = found.expires_at.unwrap().since(found.created_at);
        assert_eq!(kept, retention);
        S::rollback(&mut conn).await;
    }
}
