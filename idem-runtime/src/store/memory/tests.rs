//! The store in memory against competing attempts.

use super::*;
use crate::error::Error;
use crate::identity::Identity;
use crate::key::{IdempotencyKey, Scope};
use crate::record::Status;
use crate::store::session::{
    BodyWrites, ClaimRequest, HeldClaim, NewRecord, Session as _, Written,
};

fn request(key: &str) -> ClaimRequest {
    let key = IdempotencyKey::parse(Some(key)).unwrap().unwrap();
    ClaimRequest::new("t", Identity::of_operation("n", Scope::GLOBAL, key))
}

fn record() -> NewRecord<'static> {
    NewRecord {
        status: Status::Completed,
        operation: "o",
        fingerprint: None,
        request: None,
        result: Some(b"1"),
        failure: None,
        retention: 1_000_000,
        replaces: None,
        attempt: 1,
    }
}

async fn claim(conn: &mut MemoryConnection, key: &str) -> HeldClaim {
    let request = request(key);
    conn.claim(&request).await.unwrap().split(request).1
}

#[tokio::test]
async fn a_connection_dropped_inside_a_transaction_leaves_neither_records_nor_locks() {
    let database = MemoryDatabase::new();
    let mut conn = database.connect();
    conn.begin().unwrap();
    let claim = claim(&mut conn, "k").await;
    assert_eq!(conn.write(&claim, &record()).await.unwrap(), Written::Done);
    assert_eq!(database.lock().locks.len(), 1);
    drop(conn);
    assert!(database.rows().is_empty());
    assert!(database.lock().locks.is_empty());
}

#[tokio::test]
async fn at_commit_the_first_record_of_a_key_stands_and_the_competitor_loses_everything() {
    let database = MemoryDatabase::new();
    let mut loser = database.connect();
    loser.begin().unwrap();
    for key in ["k", "other"] {
        let claim = claim(&mut loser, key).await;
        assert_eq!(loser.write(&claim, &record()).await.unwrap(), Written::Done);
    }
    // The lock would keep another attempt away; it is not what the guarantee rests on.
    database.lock().locks.clear();
    let mut winner = database.connect();
    winner.begin().unwrap();
    let claim = claim(&mut winner, "k").await;
    assert_eq!(
        winner.write(&claim, &record()).await.unwrap(),
        Written::Done
    );
    winner.commit().unwrap();
    let error = loser.commit().unwrap_err();
    assert!(matches!(error, Error::FreshTransactionNeeded), "{error:?}");
    let rows = database.rows();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].1.attempt_id, claim.request.attempt_id);
}

#[tokio::test]
async fn what_is_written_after_a_mark_can_be_taken_back_alone() {
    let database = MemoryDatabase::new();
    let mut conn = database.connect();
    conn.begin().unwrap();
    let (outer, inner) = (claim(&mut conn, "a").await, claim(&mut conn, "b").await);
    conn.set_savepoint(&outer, true).await.unwrap();
    conn.write(&inner, &record()).await.unwrap();
    conn.release_savepoint(&outer, BodyWrites::Discard)
        .await
        .unwrap();
    conn.write(&outer, &record()).await.unwrap();
    conn.commit().unwrap();
    let keys: Vec<_> = database.rows().into_iter().map(|(at, _)| at.key).collect();
    assert_eq!(keys, ["a"]);
}

#[test]
fn transactions_do_not_nest_and_what_is_not_open_cannot_be_ended() {
    let mut conn = MemoryDatabase::new().connect();
    assert!(matches!(conn.commit(), Err(Error::NotInTransaction)));
    assert!(matches!(conn.rollback(), Err(Error::NotInTransaction)));
    conn.begin().unwrap();
    assert!(matches!(conn.begin(), Err(Error::AlreadyInTransaction)));
    assert!(!conn.is_in_transaction());
}
