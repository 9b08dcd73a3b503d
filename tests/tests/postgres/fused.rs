//! The fused path: when it is taken, when the library falls back to the plain path, and that both
//! give the same results.

use idem_runtime::{Error, IdempotencyKey, idempotent, schema};
use idem_tests::postgres::payments::{Paid, Pay, PayError, charge, fail_to_pay, pay, pay_then};
use idem_tests::postgres::{Shop, fresh_key};
use sqlx::postgres::{PgConnectOptions, PgTransaction};
use sqlx::{Executor as _, PgPool};

const CMD: Pay = Pay { amount: 1 };

/// Returns how the last transaction on a pool of one ended, after its connection was returned
/// outside any transaction.
async fn last_end(shop: &Shop) -> String {
    let mut observer = shop.observer().await;
    observer.until_no_transaction().await;
    let mut conn = shop.database.connect().await;
    sqlx::query_scalar(
        "SELECT query FROM pg_stat_activity WHERE datname = current_database() \
         AND backend_type = 'client backend' AND query IN ('COMMIT', 'ROLLBACK') ORDER BY state_change DESC LIMIT 1",
    )
    .fetch_one(&mut conn)
    .await
    .expect("there is a session")
}

/// The driver's statement that ends the empty transaction after COMMIT AND CHAIN.
const FUSED: &str = "ROLLBACK";
const PLAIN: &str = "COMMIT";

const FORGET: &str = "DO $$ DECLARE name text; BEGIN \
     FOR name IN SELECT p.name FROM pg_prepared_statements p WHERE p.name LIKE 'idem%' \
     LOOP EXECUTE format('DEALLOCATE %I', name); END LOOP; END $$";

async fn assert_paid_by(shop: &Shop, pool: &PgPool, path: &str) {
    let key = fresh_key();
    let paid = pay(pool, &key, &CMD).await.expect("it is fresh");
    assert!(!paid.replayed());
    assert_eq!(last_end(shop).await, path);
    shop.assert_one_effect(&key).await;
    let again = pay(pool, &key, &CMD).await.expect("it is recorded");
    assert!(again.replayed());
    assert_eq!(*again, *paid);
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_pool_runs_a_fresh_key_fused_from_the_first_call_on() {
    let shop = Shop::open(1).await;
    for _ in 0..2 {
        assert_paid_by(&shop, &shop.pool, FUSED).await;
    }
}

#[tokio::test]
async fn a_pool_that_says_so_runs_unfused() {
    let shop = Shop::open(1).await;
    let options = shop.database.options().clone();
    let pool = shop.pool_by(1, options.options([("idem.fused", "off")]));
    assert_paid_by(&shop, &pool, PLAIN).await;
}

#[tokio::test]
async fn a_stricter_isolation_a_borrowed_connection_and_a_pool_without_statements_run_unfused() {
    let shop = Shop::open(1).await;
    for isolation in ["repeatable read", "serializable"] {
        assert_paid_by(&shop, &shop.pool_at(isolation, 1), PLAIN).await;
    }
    let options = shop.database.options().clone().statement_cache_capacity(0);
    assert_paid_by(&shop, &shop.pool_by(1, options), PLAIN).await;
    let mut borrowed = shop.pool.acquire().await.expect("a connection");
    let key = fresh_key();
    pay(&mut borrowed, &key, &CMD).await.expect("it is fresh");
    assert_eq!(last_end(&shop).await, PLAIN);
}

#[tokio::test]
async fn a_connection_that_forgot_is_told_again() {
    let shop = Shop::open(1).await;
    assert_paid_by(&shop, &shop.pool, FUSED).await;
    for sql in [FORGET, "RESET ALL"] {
        shop.pool.execute(sql).await.expect("it forgets");
        assert_paid_by(&shop, &shop.pool, FUSED).await;
    }
}

#[tokio::test]
async fn a_body_that_makes_its_connection_forget_has_done_nothing() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let paid = pay_then(&shop.pool, &key, &CMD, FORGET).await;
    let refusal = paid.expect_err("the record cannot be written").refusal();
    assert!(matches!(refusal, Error::StatementsLost(_)), "{refusal:?}");
    assert!(refusal.is_retryable());
    shop.assert_no_effect(&key).await;
    let paid = pay(&shop.pool, &key, &CMD).await.expect("it is fresh");
    assert!(!paid.replayed());
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn how_a_session_reads_and_writes_text_changes_nothing() {
    let shop = Shop::open(1).await;
    let settings = [
        ("bytea_output", "escape"),
        ("standard_conforming_strings", "off"),
        ("backslash_quote", "on"),
        ("datestyle", "german"),
        ("extra_float_digits", "-15"),
    ];
    let options: PgConnectOptions = shop.database.options().clone();
    let pool = shop.pool_by(1, options.options(settings));
    assert_paid_by(&shop, &pool, FUSED).await;
    let key = r"k'é\'); --".parse::<IdempotencyKey>();
    let key = key.expect("a key like any other").global();
    for replayed in [false, true] {
        let paid = pay(&pool, &key, &CMD).await.expect("a key like any other");
        assert_eq!(paid.replayed(), replayed);
    }
    let output: String = sqlx::query_scalar("SHOW bytea_output")
        .fetch_one(&pool)
        .await
        .expect("the server answers");
    assert_eq!(output, "escape", "the session is as it was");
}

#[tokio::test]
async fn a_recorded_failure_takes_the_bodys_writes_back_and_replays() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    for _ in 0..2 {
        let failed = fail_to_pay(&shop.pool, &key, &CMD, Some(51)).await;
        assert!(
            matches!(failed, Err(PayError::Declined { code: 51 })),
            "{failed:?}"
        );
        assert_eq!(shop.effects(&key).await, (0, 1), "payments and records");
    }
    let key = fresh_key();
    let failed = fail_to_pay(&shop.pool, &key, &CMD, None).await;
    assert!(matches!(failed, Err(PayError::BankDown)), "{failed:?}");
    shop.assert_no_effect(&key).await;
}

/// Pays, and stores a receipt in another table by a second call.
#[idempotent(namespace = "payments", operation = "pay")]
async fn pay_with_receipt(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    receipt(&mut *tx, key, cmd).await?;
    charge(tx, key, cmd).await
}

#[idempotent(namespace = "payments", table = "receipt_record")]
async fn receipt(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await
}

#[tokio::test]
async fn a_nested_call_of_another_table_leaves_the_outer_claim_its_table() {
    let shop = Shop::open(1).await;
    let mut conn = shop.database.connect().await;
    schema::create_table_if_missing(&mut conn, "receipt_record")
        .await
        .expect("the table");
    for _ in 0..2 {
        let key = fresh_key();
        for replayed in [false, true] {
            let paid = pay_with_receipt(&shop.pool, &key, &CMD).await;
            assert_eq!(paid.expect("it pays").replayed(), replayed);
            assert_eq!(shop.effects(&key).await, (2, 1), "payments and records");
        }
    }
}

#[tokio::test]
async fn a_connection_keeps_in_mind_more_tables_than_one() {
    let shop = Shop::open(1).await;
    let mut conn = shop.database.connect().await;
    schema::create_table_if_missing(&mut conn, "receipt_record")
        .await
        .expect("the table");
    pay(&shop.pool, &fresh_key(), &CMD)
        .await
        .expect("it is fresh");
    receipt(&shop.pool, &fresh_key(), &CMD)
        .await
        .expect("it is fresh");
    let known: bool = sqlx::query_scalar(
        "SELECT current_setting('idem.verified') = \
         format(',%s,%s,', 'receipt_record'::regclass::oid, 'idem_record'::regclass::oid)",
    )
    .fetch_one(&shop.pool)
    .await
    .expect("the server answers");
    assert!(known);
}

/// The record's statement fails after its row was written: that is not a failed COMMIT.
#[tokio::test]
async fn a_trigger_behind_the_record_fails_the_call_and_not_its_commit() {
    let shop = Shop::open(1).await;
    shop.run(
        "CREATE FUNCTION give_up() RETURNS trigger LANGUAGE plpgsql AS \
           'BEGIN RAISE EXCEPTION USING ERRCODE = ''ZZ001''; END'; \
         CREATE TRIGGER give_up AFTER INSERT ON idem_record FOR EACH ROW EXECUTE FUNCTION give_up()",
    )
    .await;
    let key = fresh_key();
    let refusal = pay(&shop.pool, &key, &CMD).await;
    let refusal = refusal.expect_err("the trigger gives up").refusal();
    assert!(matches!(refusal, Error::Database(_)), "{refusal:?}");
    shop.assert_no_effect(&key).await;
}

/// The constraint is checked at COMMIT, after the record was written.
#[tokio::test]
async fn a_deferred_constraint_fails_the_commit_and_nothing_is_kept() {
    let shop = Shop::open(1).await;
    shop.run(
        "CREATE FUNCTION give_up() RETURNS trigger LANGUAGE plpgsql AS \
           'BEGIN RAISE EXCEPTION USING ERRCODE = ''23514''; END'; \
         CREATE CONSTRAINT TRIGGER give_up AFTER INSERT ON payment \
           DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION give_up()",
    )
    .await;
    let key = fresh_key();
    let refusal = pay(&shop.pool, &key, &CMD).await;
    let refusal = refusal.expect_err("the trigger gives up").refusal();
    assert!(matches!(refusal, Error::CommitFailed(_)), "{refusal:?}");
    shop.assert_no_effect(&key).await;
    shop.run("DROP TRIGGER give_up ON payment").await;
    let paid = pay(&shop.pool, &key, &CMD).await.expect("it is fresh");
    assert!(!paid.replayed());
    shop.assert_one_effect(&key).await;
}

/// COMMIT AND CHAIN begins a new transaction after the COMMIT, and that step may fail.
#[tokio::test]
async fn an_error_that_may_come_from_behind_the_commit_is_asked_about() {
    for code in ["53200", "57014"] {
        let shop = Shop::open(2).await;
        shop.run(&format!(
            "CREATE FUNCTION give_up() RETURNS trigger LANGUAGE plpgsql AS \
               'BEGIN RAISE EXCEPTION USING ERRCODE = ''{code}''; END'; \
             CREATE CONSTRAINT TRIGGER give_up AFTER INSERT ON payment \
               DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION give_up()",
        ))
        .await;
        let key = fresh_key();
        let refusal = pay(&shop.pool, &key, &CMD).await;
        let refusal = refusal.expect_err("the trigger gives up").refusal();
        // The lock is free and there is no record: only the caller that sent the COMMIT can
        // conclude that it was rolled back.
        assert!(matches!(refusal, Error::Unavailable(_)), "{refusal:?}");
        assert!(refusal.is_retryable());
        shop.assert_no_effect(&key).await;
        shop.run("DROP TRIGGER give_up ON payment").await;
        let paid = pay(&shop.pool, &key, &CMD).await.expect("it is fresh");
        assert!(!paid.replayed());
        shop.assert_one_effect(&key).await;
    }
}

/// Only a connection that does not know the library's statements cannot tell it from none.
#[tokio::test]
async fn an_empty_transaction_left_open_on_a_new_connection_is_ended_and_the_call_runs() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let mut connection = shop.pool.acquire().await.expect("a connection");
    connection.execute("BEGIN").await.expect("begun");
    drop(connection);
    let paid = pay(&shop.pool, &key, &CMD).await;
    assert!(!paid.expect("it runs").replayed());
    shop.observer().await.until_no_transaction().await;
    shop.assert_one_effect(&key).await;
}
