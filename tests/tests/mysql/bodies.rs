//! Bodies that end or replace their transaction.

use idem_runtime::{Error, IdempotencyKey, ReplayExt as _, idempotent};
use idem_tests::mysql::payments::{
    Paid, Pay, PayError, charge, fail_to_pay, pay, pay_then, pay_whatever,
};
use idem_tests::mysql::{Shop, fresh_key};
use sqlx::mysql::MySqlTransaction;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

const CMD: Pay = Pay { amount: 1 };

/// Runs a body that sends this statement after its payment, on a pool of one connection. Returns
/// the refusal.
async fn refused(shop: &Shop, key: &IdempotencyKey, sql: &str) -> Error {
    let paid = pay_then(&shop.pool, key, &CMD, sql).await;
    paid.expect_err(sql).refusal()
}

/// Asserts that the pool's only connection is usable.
async fn usable(shop: &Shop, at: &str) {
    let other = fresh_key();
    let paid = pay(&shop.pool, &other, &CMD).await;
    assert!(
        !paid
            .unwrap_or_else(|error| panic!("{at}: {error:?}"))
            .replayed()
    );
    shop.assert_one_effect(&other).await;
}

/// A body's own COMMIT keeps its writes, and it is not known what is missing: the key returns an
/// error until an operator has settled it, and never counts as unused.
#[tokio::test]
async fn a_body_that_commits_is_told_so_and_its_key_is_never_fresh_again() {
    for sql in [
        "COMMIT",
        "BEGIN",
        "START TRANSACTION",
        "CREATE TABLE mine (id int)",
        "ALTER TABLE payment COMMENT 'looked at'",
        "TRUNCATE TABLE elsewhere",
        "ANALYZE TABLE payment",
        "FLUSH STATUS",
        "LOCK TABLES payment WRITE",
        "LOCK TABLES payment WRITE; UNLOCK TABLES",
        "COMMIT; BEGIN",
        "CREATE TABLE payment (id int)",
    ] {
        let shop = Shop::open(1).await;
        shop.run("CREATE TABLE elsewhere (id int) ENGINE = InnoDB")
            .await;
        let key = fresh_key();
        let error = if sql == "CREATE TABLE payment (id int)" {
            // The statement fails after it has committed.
            let paid = pay_whatever(&shop.pool, &key, &CMD, sql).await;
            paid.expect_err(sql).refusal()
        } else {
            refused(&shop, &key, sql).await
        };
        assert!(matches!(error, Error::TransactionEnded), "{sql}: {error:?}");
        assert_eq!(shop.payments(&key).await, 1, "{sql}");
        for _ in 0..2 {
            let paid = pay(&shop.pool, &key, &CMD).await;
            match paid.expect_err(sql).refusal() {
                Error::UnknownState { what, value } => assert_eq!((what, value), ("status", 0)),
                other => panic!("{sql}: {other:?}"),
            }
        }
        let mut tx = shop.pool.begin().await.expect(sql);
        let paid = pay(&mut tx, &key, &CMD).await;
        let error = paid.expect_err(sql).refusal();
        assert!(
            matches!(
                error,
                // Of the same session.
                Error::UnknownState { .. } | Error::NestedSameKey
            ),
            "{sql}: {error:?}"
        );
        tx.rollback().await.expect(sql);
        assert_eq!(shop.payments(&key).await, 1, "{sql}");
        usable(&shop, sql).await;
        // An operator settles the key.
        shop.run("DELETE FROM idem_record WHERE status = 0").await;
        pay(&shop.pool, &key, &CMD).await.expect("the key is fresh");
    }
}

/// What a body has committed stands, whatever it answers afterwards: its own error would say that nothing does.
#[tokio::test]
async fn a_body_that_commits_and_then_fails_is_told_so() {
    for sql in [
        "COMMIT; SELECT 1 FROM nowhere",
        "LOCK TABLES nowhere WRITE",
        "CREATE TABLE payment (id int)",
    ] {
        let shop = Shop::open(1).await;
        let key = fresh_key();
        let error = refused(&shop, &key, sql).await;
        assert!(matches!(error, Error::TransactionEnded), "{sql}: {error:?}");
        assert_eq!(shop.payments(&key).await, 1, "{sql}");
        usable(&shop, sql).await;
    }
}

#[tokio::test]
async fn a_body_that_rolls_back_is_told_so_and_leaves_nothing() {
    for sql in [
        "ROLLBACK",
        "ROLLBACK; BEGIN",
        "ROLLBACK AND CHAIN",
        "ROLLBACK; START TRANSACTION; INSERT INTO payment (`key`, amount) VALUES ('x', 1)",
    ] {
        let shop = Shop::open(1).await;
        let key = fresh_key();
        let error = refused(&shop, &key, sql).await;
        assert!(matches!(error, Error::TransactionEnded), "{sql}: {error:?}");
        shop.assert_no_effect(&key).await;
        usable(&shop, sql).await;
        let paid = pay(&shop.pool, &key, &CMD).await.expect("the key is fresh");
        assert!(!paid.replayed());
        shop.assert_one_effect(&key).await;
    }
}

#[tokio::test]
async fn a_body_that_moves_the_table_out_of_sight_is_refused_and_nothing_is_kept() {
    for sql in [
        "USE mysql",
        "CREATE TEMPORARY TABLE idem_record LIKE copy",
        "DELETE FROM idem_record",
    ] {
        let shop = Shop::open(1).await;
        shop.run("CREATE TABLE copy LIKE idem_record").await;
        let key = fresh_key();
        let error = refused(&shop, &key, sql).await;
        assert!(matches!(error, Error::TransactionEnded), "{sql}: {error:?}");
        shop.assert_no_effect(&key).await;
    }
}

#[tokio::test]
async fn a_session_on_which_a_body_has_ended_its_transaction_is_nobody_elses() {
    for sql in [
        "USE mysql",
        "USE information_schema",
        "BACKUP STAGE START",
        "BACKUP LOCK payment",
    ] {
        let shop = Shop::open(1).await;
        refused(&shop, &fresh_key(), sql).await;
        let plain = "INSERT INTO payment (`key`, amount) VALUES ('plain', 1)";
        let inserted = shop.pool.execute(plain).await;
        inserted.unwrap_or_else(|error| panic!("{sql}: {error}"));
        refused(&shop, &fresh_key(), sql).await;
        usable(&shop, sql).await;
    }
}

#[tokio::test]
async fn a_temporary_table_of_the_records_name_is_no_arbiter() {
    let shop = Shop::open(1).await;
    shop.run("CREATE TABLE copy LIKE idem_record").await;
    let key = fresh_key();
    pay(&shop.pool, &fresh_key(), &CMD).await.expect("fresh");
    let mut connection = shop.pool.acquire().await.expect("a connection");
    connection
        .execute("CREATE TEMPORARY TABLE idem_record LIKE copy")
        .await
        .expect("one may");
    // Although the table was verified before.
    let paid = pay(&mut connection, &key, &CMD).await;
    let refusal = paid.expect_err("it would be lost").refusal();
    assert!(matches!(refusal, Error::Schema(_)), "{refusal:?}");
    shop.assert_no_effect(&key).await;
}

#[tokio::test]
async fn a_body_that_resets_nothing_of_its_transaction_pays() {
    for sql in [
        "SET autocommit = 1",
        "CREATE TEMPORARY TABLE mine (id int)",
        "SAVEPOINT mine; ROLLBACK TO SAVEPOINT mine",
        "UNLOCK TABLES",
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    ] {
        let shop = Shop::open(1).await;
        let key = fresh_key();
        let paid = pay_then(&shop.pool, &key, &CMD, sql).await.expect(sql);
        assert!(!paid.replayed());
        shop.assert_one_effect(&key).await;
    }
}

#[tokio::test]
async fn a_failed_statement_that_the_body_handles_is_the_bodys_business() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let clash = "INSERT INTO payment (id, `key`, amount) SELECT id, `key`, amount FROM payment";
    pay_whatever(&shop.pool, &key, &CMD, clash)
        .await
        .expect("it has handled it");
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_permanent_failure_is_recorded_and_its_writes_are_undone() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    for code in [51, 99] {
        let failed = fail_to_pay(&shop.pool, &key, &CMD, Some(code)).await;
        assert!(
            matches!(failed, Err(PayError::Declined { code: 51 })),
            "{failed:?}"
        );
        assert_eq!(shop.effects(&key).await, (0, 1));
    }
}

#[tokio::test]
async fn a_replayed_failure_is_told_from_a_first_one() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    for replayed in [false, true, true] {
        let failed = fail_to_pay(&shop.pool, &key, &CMD, Some(51)).replayable();
        let declined = failed.await.expect_err("declined");
        assert!(matches!(*declined, PayError::Declined { code: 51 }));
        assert_eq!(declined.replayed(), replayed);
        assert_eq!(declined.recorded_at().is_some(), replayed);
    }
    let fresh = fresh_key();
    for _ in 0..2 {
        let failed = fail_to_pay(&shop.pool, &fresh, &CMD, None).replayable();
        assert!(!failed.await.expect_err("for now").replayed());
    }
    let refused = pay(&shop.pool, &key, &Pay { amount: 2 }).replayable();
    let mismatch = refused.await.expect_err("another request");
    assert!(matches!(
        *mismatch,
        PayError::Idempotency(Error::Mismatch(_))
    ));
    assert!(!mismatch.replayed());
}

#[tokio::test]
async fn a_transient_failure_leaves_nothing() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let failed = fail_to_pay(&shop.pool, &key, &CMD, None).await;
    assert!(matches!(failed, Err(PayError::BankDown)), "{failed:?}");
    shop.assert_no_effect(&key).await;
    let paid = pay(&shop.pool, &key, &CMD).await.expect("the key is fresh");
    assert!(!paid.replayed());
}

#[idempotent(namespace = "payments", key = key, key_required = false, skip(name, sql))]
async fn pay_without_a_key(
    tx: &mut MySqlTransaction<'_>,
    key: Option<&IdempotencyKey>,
    name: &IdempotencyKey,
    cmd: &Pay,
    sql: &str,
) -> Result<Paid, PayError> {
    let paid = charge(tx, name, cmd).await?;
    let _ = tx.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await;
    Ok(paid)
}

/// COMMIT outside a transaction reports success.
#[tokio::test]
async fn a_body_without_a_key_is_not_answered_with_what_is_not_committed_either() {
    let shop = Shop::open(1).await;
    let name = fresh_key();
    let refusal = pay_without_a_key(&shop.pool, None, &name, &CMD, "ROLLBACK").await;
    let refusal = refusal.expect_err("its writes are gone").refusal();
    assert!(matches!(refusal, Error::TransactionEnded), "{refusal:?}");
    assert_eq!(shop.payments(&name).await, 0);
    let paid = pay_without_a_key(&shop.pool, None, &name, &CMD, "SELECT 1").await;
    paid.expect("the pool is usable");
    assert_eq!(shop.payments(&name).await, 1);
}

#[idempotent(namespace = "payments", operation = "pay")]
async fn pay_and_forget(
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    let paid = charge(tx, key, cmd).await?;
    std::mem::forget(tx.begin().await?);
    Ok(paid)
}

#[tokio::test]
async fn a_transaction_that_the_body_forgot_is_told_and_nothing_is_kept() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let refusal = pay_and_forget(&shop.pool, &key, &CMD).await;
    let refusal = refusal.expect_err("it could not be committed").refusal();
    assert!(matches!(refusal, Error::TransactionEnded), "{refusal:?}");
    shop.assert_no_effect(&key).await;
    usable(&shop, "forgotten").await;
}
