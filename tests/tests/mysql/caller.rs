//! Calls in the caller's own transaction: the library uses a savepoint, and the caller's COMMIT
//! decides.

use idem_runtime::{Error, IdempotencyKey};
use idem_tests::mysql::payments::{Pay, PayError, fail_to_pay, insert, pay, pay_in_vain, pay_then};
use idem_tests::mysql::{Shop, fresh_key};
use sqlx::Executor as _;
use sqlx::mysql::MySqlTransaction;

const CMD: Pay = Pay { amount: 1 };
const OWN: &str = "the caller's own";

/// Writes a row as the caller.
async fn note(tx: &mut MySqlTransaction<'_>) {
    insert(tx, OWN, 1)
        .await
        .expect("the transaction is in order");
}

/// Returns how many of the caller's rows are committed.
async fn notes(shop: &Shop) -> i64 {
    shop.payments(&OWN.parse().expect("a key")).await
}

#[tokio::test]
async fn two_keys_in_one_transaction_are_committed_with_it() {
    let shop = Shop::open(1).await;
    let (one, two) = (fresh_key(), fresh_key());
    let mut tx = shop.pool.begin().await.expect("a transaction");
    assert!(!pay(&mut tx, &one, &CMD).await.expect("fresh").replayed());
    note(&mut tx).await;
    assert!(!pay(&mut tx, &two, &CMD).await.expect("fresh").replayed());
    let again = pay(&mut tx, &one, &CMD).await.expect("recorded");
    assert!(again.replayed());
    shop.assert_no_effect(&one).await;
    tx.commit().await.expect("nothing is wrong with it");
    shop.assert_one_effect(&one).await;
    shop.assert_one_effect(&two).await;
    assert_eq!(notes(&shop).await, 1);
}

#[tokio::test]
async fn if_the_caller_rolls_back_nothing_has_happened() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let mut tx = shop.pool.begin().await.expect("a transaction");
    pay(&mut tx, &key, &CMD).await.expect("fresh");
    tx.rollback().await.expect("the server answers");
    shop.assert_no_effect(&key).await;
    let paid = pay(&shop.pool, &key, &CMD).await.expect("fresh again");
    assert!(!paid.replayed());
}

#[tokio::test]
async fn until_the_caller_has_committed_its_keys_are_in_flight_for_others() {
    let shop = Shop::open(3).await;
    let key = fresh_key();
    let mut tx = shop.pool.begin().await.expect("a transaction");
    pay(&mut tx, &key, &CMD).await.expect("fresh");
    let paid = pay(&shop.pool, &key, &CMD).await;
    let refusal = paid.expect_err("it runs").refusal();
    assert!(matches!(refusal, Error::InFlight { .. }), "{refusal:?}");
    // Also for another caller's transaction, which continues.
    let mut other = shop.pool.begin().await.expect("a transaction");
    note(&mut other).await;
    let refusal = pay(&mut other, &key, &CMD).await.expect_err("it runs");
    let refusal = refusal.refusal();
    assert!(matches!(refusal, Error::InFlight { .. }), "{refusal:?}");
    note(&mut other).await;
    other.commit().await.expect("nothing is wrong with it");
    assert_eq!(notes(&shop).await, 2);
    tx.commit().await.expect("nothing is wrong with it");
    let again = pay(&shop.pool, &key, &CMD).await.expect("recorded");
    assert!(again.replayed());
}

#[tokio::test]
async fn a_failure_undoes_the_call_alone_and_the_caller_goes_on() {
    let shop = Shop::open(2).await;
    let (failing, declined, other) = (fresh_key(), fresh_key(), fresh_key());
    let mut tx = shop.pool.begin().await.expect("a transaction");
    note(&mut tx).await;
    let failed = pay_in_vain(&mut tx, &failing, &CMD).await;
    assert!(matches!(failed, Err(PayError::BankDown)), "{failed:?}");
    let failed = pay_then(&mut tx, &failing, &CMD, "SELECT no_such_column").await;
    assert!(matches!(failed, Err(PayError::Database(_))), "{failed:?}");
    let failed = fail_to_pay(&mut tx, &declined, &CMD, Some(51)).await;
    let code = matches!(failed, Err(PayError::Declined { code: 51 }));
    assert!(code, "{failed:?}");
    assert!(!pay(&mut tx, &other, &CMD).await.expect("fresh").replayed());
    tx.commit().await.expect("nothing is wrong with it");
    shop.assert_no_effect(&failing).await;
    assert_eq!(shop.effects(&declined).await, (0, 1));
    shop.assert_one_effect(&other).await;
    assert_eq!(notes(&shop).await, 1);
    let paid = pay(&shop.pool, &failing, &CMD).await.expect("fresh");
    assert!(!paid.replayed());
}

/// A non-locking read would not see the winner's record.
#[tokio::test]
async fn a_callers_transaction_with_an_older_snapshot_replays_what_the_winner_has_committed() {
    for isolation in [
        "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    ] {
        let shop = Shop::open(1).await;
        let pool = shop.pool_with(1, isolation);
        let key = fresh_key();
        let mut tx = pool.begin().await.expect("a transaction");
        tx.execute("SELECT * FROM account_of_nobody").await.ok();
        let observed: i64 =
            sqlx::query_scalar("SELECT count(*) FROM idem_record WHERE `key` = 'k'")
                .fetch_one(&mut *tx)
                .await
                .expect("it can be read");
        assert_eq!(observed, 0);
        if isolation.ends_with("SERIALIZABLE") {
            // Its reads take locks, so no other attempt can have committed since.
            continue;
        }
        let first = pay(&shop.pool, &key, &CMD).await.expect("fresh");
        let again = pay(&mut tx, &key, &CMD).await.expect("it is recorded");
        assert!(again.replayed(), "{isolation}");
        assert_eq!(*again, *first);
        tx.commit().await.expect("nothing is wrong with it");
        shop.assert_one_effect(&key).await;
    }
}

/// An uncommitted record is not replayed, even to sessions that can read it.
#[tokio::test]
async fn a_record_that_is_not_committed_is_never_replayed() {
    let shop = Shop::open(2).await;
    let dirty = shop.pool_with(
        2,
        "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
    );
    let key = fresh_key();
    let mut tx = shop.pool.begin().await.expect("a transaction");
    pay(&mut tx, &key, &CMD).await.expect("fresh");
    let mut reader = dirty.begin().await.expect("a transaction");
    for paid in [
        pay(&dirty, &key, &CMD).await,
        pay(&mut reader, &key, &CMD).await,
    ] {
        let refusal = paid.expect_err("it may be undone").refusal();
        assert!(matches!(refusal, Error::InFlight { .. }), "{refusal:?}");
    }
    tx.rollback().await.expect("the server answers");
    let paid = pay(&mut reader, &key, &CMD).await.expect("it was undone");
    assert!(!paid.replayed());
    reader.commit().await.expect("nothing is wrong with it");
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_callers_transaction_that_is_over_is_told_and_nothing_is_written() {
    for sql in ["CREATE TABLE mine (id int)", "ROLLBACK", "COMMIT"] {
        let shop = Shop::open(1).await;
        let key = fresh_key();
        let mut tx = shop.pool.begin().await.expect("a transaction");
        tx.execute(sqlx::raw_sql(sql)).await.expect(sql);
        let refusal = pay(&mut tx, &key, &CMD).await.expect_err(sql).refusal();
        assert!(matches!(refusal, Error::TransactionEnded), "{refusal:?}");
        shop.assert_no_effect(&key).await;
        tx.rollback().await.expect(sql);
        pay(&shop.pool, &key, &CMD).await.expect("the key is fresh");
    }
}

#[tokio::test]
async fn a_transaction_begun_by_hand_is_never_committed_by_a_call() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let mut connection = shop.database.connect().await;
    connection.execute("BEGIN").await.expect("none is open");
    connection
        .execute("INSERT INTO payment (`key`, amount) VALUES ('by hand', 1)")
        .await
        .expect("it is open");
    let refusal = pay(&mut connection, &key, &CMD).await;
    let refusal = refusal.expect_err("it is not sqlx's").refusal();
    assert!(
        matches!(refusal, Error::AlreadyInTransaction),
        "{refusal:?}"
    );
    let by_hand: IdempotencyKey = "by hand".parse().expect("a key");
    assert_eq!(shop.payments(&by_hand).await, 0);
    let paid = pay(&mut connection, &key, &CMD).await;
    assert!(!paid.expect("it has been cleared").replayed());
    assert_eq!(shop.payments(&by_hand).await, 0);
    shop.assert_one_effect(&key).await;
}
