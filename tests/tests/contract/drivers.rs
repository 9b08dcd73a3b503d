//! The laws of a single database or its driver.

use idem_runtime::Error;
use idem_runtime::store::{Outcome, Session};
use serde_json::json;
use sqlx::{Executor, PgConnection, SqliteConnection};

use crate::subject::{PAY, Postgres, SqliteWal, Subject, claim, expect_replay, key, store};

/// Claims and records in a transaction that the driver does not know of.
async fn record_by_hand<S: Session>(conn: &mut S) {
    let store = store();
    assert!(matches!(
        store.in_transaction(conn),
        Err(Error::NotInTransaction)
    ));
    let mut bound = store.in_connection(conn);
    match bound.begin(&key("k"), PAY, &json!(1)).await.unwrap() {
        Outcome::Fresh(claim) => drop(bound.commit(claim, &json!("done")).await.unwrap()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn in_connection_works_in_a_transaction_begun_by_hand_on_postgresql() {
    let subject = Postgres::fresh().await;
    let mut conn: PgConnection = subject.connect().await;
    for (end, count) in [("ROLLBACK", 0), ("COMMIT", 1)] {
        conn.execute("BEGIN").await.unwrap();
        record_by_hand(&mut conn).await;
        conn.execute(end).await.unwrap();
        assert_eq!(subject.count().await, count);
    }
}

#[tokio::test]
async fn in_connection_works_in_a_transaction_begun_by_hand_on_sqlite() {
    let subject = SqliteWal::fresh().await;
    let mut conn: SqliteConnection = subject.connect().await;
    for (begin, end, count) in [("BEGIN", "ROLLBACK", 0), ("BEGIN IMMEDIATE", "COMMIT", 1)] {
        conn.execute(begin).await.unwrap();
        record_by_hand(&mut conn).await;
        conn.execute(end).await.unwrap();
        assert_eq!(subject.count().await, count);
    }
}

#[tokio::test]
async fn a_duplicate_refused_early_leaves_a_sqlite_transaction_able_to_write() {
    let (subject, store) = (SqliteWal::fresh().await, store());
    let (mut first, mut second) = (subject.connect().await, subject.connect().await);
    SqliteWal::begin(&mut first).await;
    let held = claim(&store, &mut first, &key("k"), &json!(1)).await;
    SqliteWal::begin(&mut second).await;
    let mut bound = store.in_transaction(&mut second).unwrap();
    let outcome = bound.begin(&key("k"), PAY, &json!(1)).await.unwrap();
    assert!(matches!(outcome, Outcome::InFlight { .. }), "{outcome:?}");
    drop(held);
    SqliteWal::rollback(&mut first).await;
    // No other session has committed since: its snapshot is still current.
    let claim = claim(&store, &mut second, &key("k"), &json!(1)).await;
    let mut bound = store.in_transaction(&mut second).unwrap();
    bound.commit(claim, &json!("done")).await.unwrap();
    SqliteWal::commit(&mut second).await;
    expect_replay(&store, &mut first, &key("k"), &json!(1), &json!("done")).await;
}

/// Keeps a claim after its rollback. Returns whether another connection can claim the key before
/// the kept claim is dropped, and after.
async fn claim_kept_past_its_rollback<S: Subject>() -> [bool; 2] {
    let (subject, store) = (S::fresh().await, store());
    let (mut first, mut second) = (subject.connect().await, subject.connect().await);
    S::begin(&mut first).await;
    let mut kept = Some(claim(&store, &mut first, &key("k"), &json!(1)).await);
    S::rollback(&mut first).await;
    let mut fresh = [false; 2];
    for is_fresh in &mut fresh {
        S::begin(&mut second).await;
        let mut bound = store.in_transaction(&mut second).unwrap();
        *is_fresh = match bound.begin(&key("k"), PAY, &json!(1)).await.unwrap() {
            Outcome::Fresh(_) => true,
            Outcome::InFlight { .. } => false,
            other => panic!("{other:?}"),
        };
        S::rollback(&mut second).await;
        drop(kept.take());
    }
    fresh
}

#[tokio::test]
async fn a_claim_kept_past_its_rollback_blocks_nobody_where_a_lock_can_be_asked_for() {
    assert_eq!(claim_kept_past_its_rollback::<Postgres>().await, [true; 2]);
}

#[tokio::test]
async fn a_claim_kept_past_its_rollback_blocks_its_key_on_sqlite_for_as_long_as_it_is_kept() {
    assert_eq!(
        claim_kept_past_its_rollback::<SqliteWal>().await,
        [false, true]
    );
}

#[tokio::test]
async fn a_claim_ended_out_of_turn_on_sqlite_takes_the_later_one_along_and_records_nothing_for_it()
{
    let (subject, store) = (SqliteWal::fresh().await, store());
    let mut conn = subject.connect().await;
    SqliteWal::begin(&mut conn).await;
    let first = claim(&store, &mut conn, &key("a"), &json!(1)).await;
    let second = claim(&store, &mut conn, &key("b"), &json!(1)).await;
    let mut bound = store.in_transaction(&mut conn).unwrap();
    bound.commit(first, &json!("a")).await.unwrap();
    let error = bound.commit(second, &json!("b")).await.unwrap_err();
    assert!(matches!(error, Error::TransactionEnded), "{error:?}");
    SqliteWal::commit(&mut conn).await;
    assert_eq!(subject.count().await, 1);
}
