//! Bodies with forbidden actions: each gets an error, and no record is written without its effect.

use idem_runtime::{Error, IdempotencyKey, idempotent};
use idem_tests::postgres::payments::{
    Paid, Pay, PayError, charge, fail_to_pay, pay, pay_then, pay_whatever,
};
use idem_tests::postgres::{Shop, fresh_key};
use sqlx::postgres::PgTransaction;
use sqlx::{Acquire as _, AssertSqlSafe, Executor as _};

const CMD: Pay = Pay { amount: 1 };

/// Pays with `sql` at the end of the body. Asserts that the call is refused because the body ended
/// its transaction.
async fn refused_as_ended(shop: &Shop, key: &IdempotencyKey, sql: &str) {
    let refusal = refused_at_the_end(shop, key, sql).await;
    assert!(
        matches!(refusal, Error::TransactionEnded),
        "{sql}: {refusal:?}"
    );
}

/// Pays with `sql` at the end of the body. Returns the refusal.
async fn refused_at_the_end(shop: &Shop, key: &IdempotencyKey, sql: &str) -> Error {
    let refusal = pay_then(&shop.pool, key, &CMD, sql).await;
    let refusal = refusal.expect_err("the transaction is another").refusal();
    assert_eq!(shop.records(key).await, 0, "{sql}");
    // The pool's only connection is outside any transaction again.
    shop.observer().await.until_no_transaction().await;
    let other = fresh_key();
    pay(&shop.pool, &other, &CMD)
        .await
        .expect("the pool is usable");
    shop.assert_one_effect(&other).await;
    refusal
}

/// The body committed its effect by itself, which the library cannot undo; no record is added.
#[tokio::test]
async fn a_body_that_commits_is_refused_and_nothing_is_recorded() {
    for sql in ["COMMIT", "COMMIT; BEGIN", "COMMIT AND CHAIN"] {
        let shop = Shop::open(1).await;
        let key = fresh_key();
        refused_as_ended(&shop, &key, sql).await;
        assert_eq!(shop.payments(&key).await, 1, "{sql}: the body's own doing");
    }
}

#[tokio::test]
async fn a_body_that_rolls_back_is_refused_and_nothing_is_kept() {
    for sql in ["ROLLBACK", "ROLLBACK; BEGIN", "ROLLBACK AND CHAIN"] {
        let shop = Shop::open(1).await;
        let key = fresh_key();
        refused_as_ended(&shop, &key, sql).await;
        shop.assert_no_effect(&key).await;
        let paid = pay(&shop.pool, &key, &CMD).await.expect("the key is fresh");
        assert!(!paid.replayed());
    }
}

/// The prepared transaction holds the key's lock until it is committed or rolled back.
#[tokio::test]
async fn a_body_that_prepares_its_transaction_is_refused_and_the_key_is_in_flight_until_it_ends() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let name = key.as_str();
    refused_as_ended(&shop, &key, &format!("PREPARE TRANSACTION '{name}'")).await;
    let refusal = pay(&shop.pool, &key, &CMD)
        .await
        .expect_err("it is prepared")
        .refusal();
    assert!(matches!(refusal, Error::InFlight { .. }), "{refusal:?}");
    shop.run(&format!("ROLLBACK PREPARED '{name}'")).await;
    shop.assert_no_effect(&key).await;
    let paid = pay(&shop.pool, &key, &CMD).await.expect("the key is fresh");
    assert!(!paid.replayed());
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_body_that_moves_the_table_out_of_sight_is_refused_and_nothing_is_kept() {
    let empty = "CREATE SCHEMA elsewhere; SET search_path = elsewhere";
    let another = "CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.idem_record \
                   (LIKE public.idem_record INCLUDING ALL); SET search_path = elsewhere";
    let local = "CREATE SCHEMA elsewhere; SET LOCAL search_path = elsewhere";
    let temporary = "CREATE TEMP TABLE idem_record (LIKE public.idem_record INCLUDING ALL)";
    for sql in [empty, another, local, temporary] {
        let shop = Shop::open(1).await;
        let key = fresh_key();
        let refusal = refused_at_the_end(&shop, &key, sql).await;
        assert!(
            matches!(refusal, Error::TableMoved { .. }),
            "{sql}: {refusal:?}"
        );
        shop.assert_no_effect(&key).await;
        let paid = pay(&shop.pool, &key, &CMD).await.expect("the key is fresh");
        assert!(!paid.replayed());
        shop.assert_one_effect(&key).await;
    }
}

/// What it has committed stands, and no text denies it.
#[tokio::test]
async fn a_body_that_commits_and_moves_the_table_is_not_told_that_all_was_rolled_back() {
    let moved = "CREATE SCHEMA elsewhere; SET search_path = elsewhere";
    let role = "GRANT ALL ON payment TO pg_monitor; COMMIT; SET ROLE pg_monitor";
    let another = "CREATE SCHEMA elsewhere; COMMIT; BEGIN; SET LOCAL search_path = elsewhere";
    let another_role = "COMMIT; BEGIN; SET LOCAL ROLE pg_monitor";
    for (sql, ended) in [
        (&*format!("COMMIT; {moved}"), true),
        (&*format!("{moved}; COMMIT"), true),
        (role, true),
        (another, false),
        (another_role, false),
    ] {
        let shop = Shop::open(1).await;
        for own in [true, false] {
            let key = fresh_key();
            // Each in a session of its own, whose settings end with it.
            let refused = if own {
                pay_then(&shop.database.pool(1), &key, &CMD, sql).await
            } else {
                pay_then(&mut shop.database.connect().await, &key, &CMD, sql).await
            };
            let refusal = refused.expect_err("nothing is recorded").refusal();
            let is_ended = matches!(refusal, Error::TransactionEnded);
            assert!(is_ended || !ended, "{sql}, own: {own}: {refusal:?}");
            assert!(!refusal.is_retryable(), "{sql}: {refusal:?}");
            let text = refusal.to_string();
            assert!(
                !text.contains("everything was rolled back"),
                "{sql}: {text}"
            );
            assert!(is_ended || text.contains("rolled back"), "{sql}: {text}");
            assert_eq!(shop.effects(&key).await, (1, 0), "{sql}, own: {own}");
            shop.run("DROP SCHEMA IF EXISTS elsewhere").await;
        }
    }
}

#[tokio::test]
async fn a_temporary_table_of_the_records_name_is_no_arbiter() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let mut connection = shop.database.connect().await;
    sqlx::raw_sql("CREATE TEMP TABLE idem_record (LIKE public.idem_record INCLUDING ALL)")
        .execute(&mut connection)
        .await
        .expect("one may");
    let refusal = pay(&mut connection, &key, &CMD)
        .await
        .expect_err("it would be lost")
        .refusal();
    assert!(matches!(refusal, Error::Schema(_)), "{refusal:?}");
    shop.assert_no_effect(&key).await;
}

#[tokio::test]
async fn a_body_that_resets_all_settings_fails_closed() {
    for sql in ["RESET ALL", "RESET idem.held"] {
        let shop = Shop::open(1).await;
        let key = fresh_key();
        refused_as_ended(&shop, &key, sql).await;
        shop.assert_no_effect(&key).await;
    }
}

#[tokio::test]
async fn a_body_that_discards_what_is_no_transaction_pays() {
    for sql in [
        "DISCARD TEMP",
        "DISCARD SEQUENCES",
        "SET LOCAL work_mem = '1MB'",
    ] {
        let shop = Shop::open(1).await;
        let key = fresh_key();
        let paid = pay_then(&shop.pool, &key, &CMD, sql).await.expect("it may");
        assert!(!paid.replayed());
        shop.assert_one_effect(&key).await;
    }
}

#[tokio::test]
async fn a_body_that_swallows_a_failed_statement_is_told_so_and_nothing_is_kept() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let refusal = pay_whatever(&shop.pool, &key, &CMD, "SELECT 1 / 0").await;
    let refusal = refusal.expect_err("its writes are gone").refusal();
    assert!(matches!(refusal, Error::TransactionAborted), "{refusal:?}");
    shop.assert_no_effect(&key).await;
    let paid = pay(&shop.pool, &key, &CMD).await.expect("the key is fresh");
    assert!(!paid.replayed());
    shop.assert_one_effect(&key).await;
}

#[idempotent(
    namespace = "payments",
    key = key,
    key_required = false,
    skip(name, sql)
)]
async fn pay_without_a_key(
    tx: &mut PgTransaction<'_>,
    key: Option<&IdempotencyKey>,
    name: &IdempotencyKey,
    cmd: &Pay,
    sql: &str,
) -> Result<Paid, PayError> {
    let paid = charge(tx, name, cmd).await?;
    let _ = tx.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await;
    Ok(paid)
}

/// COMMIT of an aborted transaction, and outside any, reports success.
#[tokio::test]
async fn a_body_without_a_key_is_not_answered_with_what_is_not_committed_either() {
    let shop = Shop::open(1).await;
    for sql in ["SELECT 1 / 0", "ROLLBACK"] {
        let name = fresh_key();
        let refusal = pay_without_a_key(&shop.pool, None, &name, &CMD, sql).await;
        let refusal = refusal.expect_err("its writes are gone").refusal();
        assert!(
            matches!(refusal, Error::TransactionAborted | Error::TransactionEnded),
            "{sql}: {refusal:?}"
        );
        assert_eq!(shop.payments(&name).await, 0, "{sql}");
        let paid = pay_without_a_key(&shop.pool, None, &name, &CMD, "SELECT 1").await;
        paid.expect("the pool is usable");
        assert_eq!(shop.payments(&name).await, 1, "{sql}");
    }
}

#[idempotent(namespace = "payments", operation = "pay", skip(and))]
async fn pay_and_forget(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
    and: Result<(), PayError>,
) -> Result<Paid, PayError> {
    let paid = charge(tx, key, cmd).await?;
    std::mem::forget(tx.begin().await?);
    std::mem::forget(tx.begin().await?);
    and.map(|()| paid)
}

/// sqlx ends transactions by its own depth counter. If a nested one was forgotten, its COMMIT only
/// releases a savepoint and reports success, and its ROLLBACK leaves the transaction open.
#[tokio::test]
async fn a_transaction_that_the_body_forgot_is_told_and_nothing_is_kept() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let refusal = pay_and_forget(&shop.pool, &key, &CMD, Ok(())).await;
    let refusal = refusal.expect_err("it could not be committed").refusal();
    assert!(matches!(refusal, Error::TransactionEnded), "{refusal:?}");
    let failed = pay_and_forget(&shop.pool, &key, &CMD, Err(PayError::BankDown)).await;
    assert!(matches!(failed, Err(PayError::BankDown)), "{failed:?}");
    shop.assert_no_effect(&key).await;

    // Not a nested transaction inside one that is never ended.
    let mut tx = shop.pool.begin().await.expect("the pool is usable");
    let refusal = pay_and_forget(&mut tx, &key, &CMD, Ok(())).await;
    assert!(refusal.is_err(), "{refusal:?}");
    pay(&mut tx, &key, &CMD).await.expect("the key is fresh");
    tx.commit().await.expect("it is the caller's");
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_failed_statement_under_the_bodys_own_savepoint_is_no_fault() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let sql = "SAVEPOINT mine; DO $$ BEGIN PERFORM 1 / 0; EXCEPTION WHEN OTHERS THEN END $$; \
               ROLLBACK TO SAVEPOINT mine";
    pay_then(&shop.pool, &key, &CMD, sql)
        .await
        .expect("the body has handled it");
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_permanent_failure_is_not_recorded_where_the_body_ended_its_transaction() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    // A trigger function cannot commit: a committed payment must come from a body that did.
    let refusal = commit_and_decline(&shop.pool, &key, &CMD).await;
    let refusal = refusal.expect_err("the savepoint is gone").refusal();
    assert!(matches!(refusal, Error::TransactionEnded), "{refusal:?}");
    assert_eq!(shop.records(&key).await, 0);
    let failed = fail_to_pay(&shop.pool, &key, &CMD, Some(7)).await;
    assert!(
        matches!(failed, Err(PayError::Declined { code: 7 })),
        "{failed:?}"
    );
}

#[idempotent(namespace = "payments", operation = "pay", failures = "record")]
async fn commit_and_decline(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<(), PayError> {
    sqlx::raw_sql("COMMIT").execute(&mut **tx).await?;
    let _ = (key, cmd);
    Err(PayError::Declined { code: 7 })
}

#[idempotent(namespace = "payments", operation = "pay", skip(sql))]
async fn pay_and_fail(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
    sql: &str,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await?;
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut **tx).await?;
    Err(PayError::BankDown)
}

/// What a body has committed stands, whatever it answers afterwards: its own error would say that nothing does.
#[tokio::test]
async fn a_body_that_commits_and_then_fails_is_told_so() {
    for sql in ["COMMIT", "COMMIT; BEGIN", "COMMIT AND CHAIN"] {
        let shop = Shop::open(2).await;
        let key = fresh_key();
        let mut tx = shop.pool.begin().await.expect("a transaction");
        let joined = pay_and_fail(&mut tx, &fresh_key(), &CMD, sql).await;
        let refusals = [joined, pay_and_fail(&shop.pool, &key, &CMD, sql).await];
        for refusal in refusals {
            let refusal = refusal.expect_err(sql).refusal();
            assert!(
                matches!(refusal, Error::TransactionEnded),
                "{sql}: {refusal:?}"
            );
        }
        assert_eq!(shop.effects(&key).await, (1, 0), "{sql}");
    }
    for sql in ["SELECT 1", "SELECT 1/0"] {
        let shop = Shop::open(1).await;
        let key = fresh_key();
        let failed = pay_and_fail(&shop.pool, &key, &CMD, sql).await;
        let failed = failed.expect_err(sql);
        assert!(
            matches!(failed, PayError::BankDown | PayError::Database(_)),
            "{sql}: {failed:?}"
        );
        shop.assert_no_effect(&key).await;
    }
}
