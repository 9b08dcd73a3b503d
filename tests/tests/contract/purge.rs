//! Deleting expired records.

use std::time::Duration;

use serde_json::json;

use crate::subject::{Edit, RETENTION, Subject, claim, expect_replay, key, record, store};
use idem_runtime::StoredFailure;

async fn purge<S: Subject>(conn: &mut S::Conn, limit: u32) -> u64 {
    let store = store();
    let mut bound = store.in_connection(conn);
    bound.purge_expired(limit).await.expect("purged")
}

pub(crate) async fn a_purge_deletes_only_what_has_expired<S: Subject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    record::<S, _, _>(&store, &mut conn, &key("done"), &json!(1), &json!(1)).await;
    S::begin(&mut conn).await;
    let claim = claim(&store, &mut conn, &key("failed"), &json!(1)).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    let failure = StoredFailure::new("Declined", "no");
    bound.fail_permanent(claim, &failure).await.unwrap();
    S::commit(&mut conn).await;
    assert_eq!(purge::<S>(&mut conn, 10).await, 0);
    subject.age(RETENTION + Duration::from_secs(1)).await;
    record::<S, _, _>(&store, &mut conn, &key("live"), &json!(1), &json!("live")).await;
    assert_eq!(purge::<S>(&mut conn, 10).await, 2);
    assert_eq!(subject.count().await, 1);
    expect_replay(&store, &mut conn, &key("live"), &json!(1), &json!("live")).await;
}

pub(crate) async fn a_purge_never_deletes_a_lease_or_an_unknown_outcome<S: Subject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    for (text, status) in [("lease", 3), ("unknown", 4)] {
        record::<S, _, _>(&store, &mut conn, &key(text), &json!(1), &json!(1)).await;
        subject
            .edit(text, Edit::Lease(status, Duration::ZERO))
            .await;
    }
    // Even if they have a time to expire at: the status decides.
    for text in ["odd lease", "odd unknown"] {
        record::<S, _, _>(&store, &mut conn, &key(text), &json!(1), &json!(1)).await;
    }
    subject.edit("odd lease", Edit::Status(3)).await;
    subject.edit("odd unknown", Edit::Status(4)).await;
    subject.age(RETENTION * 100).await;
    assert_eq!(purge::<S>(&mut conn, 10).await, 0);
    assert_eq!(subject.count().await, 4);
}

pub(crate) async fn a_purge_deletes_the_oldest_first_and_no_more_than_its_limit<S: Subject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    for n in 0..5 {
        record::<S, _, _>(
            &store,
            &mut conn,
            &key(&n.to_string()),
            &json!(n),
            &json!(n),
        )
        .await;
        subject.age(RETENTION).await;
    }
    assert_eq!(purge::<S>(&mut conn, 0).await, 0);
    assert_eq!(purge::<S>(&mut conn, 2).await, 2);
    for (n, is_there) in [(0, false), (1, false), (2, true), (3, true), (4, true)] {
        let mut bound = store.in_connection(&mut conn);
        let found = bound.get(&key(&n.to_string())).await.unwrap();
        assert_eq!(found.is_some(), is_there, "{n}");
    }
    assert_eq!(purge::<S>(&mut conn, 2).await, 2);
    assert_eq!(purge::<S>(&mut conn, 2).await, 1);
    assert_eq!(purge::<S>(&mut conn, 2).await, 0);
}

pub(crate) async fn a_purge_is_undone_by_a_rollback<S: Subject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    record::<S, _, _>(&store, &mut conn, &key("k"), &json!(1), &json!("old")).await;
    subject.age(RETENTION * 2).await;
    S::begin(&mut conn).await;
    assert_eq!(purge::<S>(&mut conn, 10).await, 1);
    assert_eq!(purge::<S>(&mut conn, 10).await, 0);
    S::rollback(&mut conn).await;
    expect_replay(&store, &mut conn, &key("k"), &json!(1), &json!("old")).await;
}

pub(crate) async fn a_purged_key_is_fresh<S: Subject>() {
    let (subject, store) = (S::fresh().await, store());
    let mut conn = subject.connect().await;
    record::<S, _, _>(&store, &mut conn, &key("k"), &json!(1), &json!("old")).await;
    subject.age(RETENTION * 2).await;
    assert_eq!(purge::<S>(&mut conn, 10).await, 1);
    record::<S, _, _>(&store, &mut conn, &key("k"), &json!(2), &json!("new")).await;
    let found = store.in_connection(&mut conn).get(&key("k")).await.unwrap();
    assert_eq!(found.unwrap().attempt, 1);
}
