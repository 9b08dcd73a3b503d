//! The fused path when a part of it fails: nothing is recorded, the error has the right cause, and
//! the connection stays usable.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::Poll;

use idem_runtime::{Error, IdempotencyKey, idempotent};
use idem_tests::patience::in_time;
use idem_tests::postgres::payments::{Paid, Pay, PayError, charge, pay, pay_then};
use idem_tests::postgres::{Shop, fresh_key};
use sqlx::postgres::PgTransaction;
use sqlx::{AssertSqlSafe, Executor as _};

const CMD: Pay = Pay { amount: 1 };

/// Asserts that at most one first call is refused, with nothing recorded, and no retry.
async fn assert_recovers(shop: &Shop, at: &str) {
    let key = fresh_key();
    if let Err(refused) = pay(&shop.pool, &key, &CMD).await {
        let refused = refused.refusal();
        assert!(
            matches!(refused, Error::StatementsLost(_)),
            "{at}: {refused:?}"
        );
        shop.assert_no_effect(&key).await;
    }
    let paid = pay(&shop.pool, &key, &CMD).await;
    paid.unwrap_or_else(|error| panic!("{at}: {error:?}"));
    let again = pay(&shop.pool, &key, &CMD).await;
    assert!(
        again
            .unwrap_or_else(|error| panic!("{at}: {error:?}"))
            .replayed()
    );
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_connection_that_forgot_one_statement_refuses_one_call_at_most() {
    for statement in ["claim", "look", "record"] {
        let shop = Shop::open(1).await;
        pay(&shop.pool, &fresh_key(), &CMD).await.expect("fresh");
        let forget = format!(
            "DO $$ DECLARE name text; BEGIN SELECT p.name INTO name FROM pg_prepared_statements p \
             WHERE p.name LIKE 'idem_{statement}%'; EXECUTE format('DEALLOCATE %I', name); END $$"
        );
        shop.pool
            .execute(sqlx::raw_sql(AssertSqlSafe(forget)))
            .await
            .expect("it is known");
        assert_recovers(&shop, statement).await;
    }
}

/// A rule makes the record's statement fail, but not the claim.
#[tokio::test]
async fn a_rule_made_later_keeps_nothing_and_is_named_and_its_end_is_the_end_of_it() {
    let shop = Shop::open(1).await;
    pay(&shop.pool, &fresh_key(), &CMD).await.expect("fresh");
    shop.run(
        "CREATE RULE nothing AS ON INSERT TO idem_record WHERE new.namespace = 'none' DO INSTEAD NOTHING",
    )
    .await;
    let key = fresh_key();
    let mut named = false;
    for _ in 0..3 {
        let refused = pay(&shop.pool, &key, &CMD).await;
        let refused = refused.expect_err("the rule is there").refusal();
        assert!(
            matches!(refused, Error::Database(_) | Error::Schema(_)),
            "{refused:?}"
        );
        assert!(!refused.is_retryable());
        named |= refused.to_string().contains("DROP RULE nothing");
        shop.assert_no_effect(&key).await;
    }
    assert!(named, "nobody is told what to mend");
    shop.run("DROP RULE nothing ON idem_record").await;
    let paid = pay(&shop.pool, &key, &CMD).await;
    assert!(!paid.expect("the rule is gone").replayed());
    shop.assert_one_effect(&key).await;
}

/// A connection that has lost its statements cannot prepare them under a rule: it verifies the table anew,
/// and no body runs.
#[tokio::test]
async fn a_connection_that_cannot_prepare_the_records_statement_names_the_rule_at_once() {
    for condition in ["WHERE new.namespace = 'none'", ""] {
        let shop = Shop::open(1).await;
        pay(&shop.pool, &fresh_key(), &CMD).await.expect("fresh");
        shop.run(&format!(
            "CREATE RULE nothing AS ON INSERT TO idem_record {condition} DO INSTEAD NOTHING"
        ))
        .await;
        let forget = shop.pool.execute("DEALLOCATE ALL").await;
        forget.expect("it is in order");
        let key = fresh_key();
        for _ in 0..2 {
            let refused = pay(&shop.pool, &key, &CMD).await;
            let refused = refused.expect_err("the rule is there").refusal();
            assert!(matches!(refused, Error::Schema(_)), "{refused:?}");
            let text = refused.to_string();
            assert!(text.contains("DROP RULE nothing"), "{text}");
            shop.assert_no_effect(&key).await;
        }
        shop.run("DROP RULE nothing ON idem_record").await;
        let paid = pay(&shop.pool, &key, &CMD).await;
        assert!(!paid.expect("the rule is gone").replayed());
        shop.assert_one_effect(&key).await;
    }
}

const CODES: [&str; 17] = [
    "ID004", "42883", "42501", "22P02", "22007", "42704", "22012", "3F000", "26000", "42P01",
    "42P02", "0A000", "25P02", "08006", "40003", "57P01", "23505",
];

async fn raises(shop: &Shop, trigger: &str, code: &str) {
    shop.run(&format!(
        "CREATE OR REPLACE FUNCTION give_up() RETURNS trigger LANGUAGE plpgsql AS \
           'BEGIN RAISE EXCEPTION USING ERRCODE = ''{code}'', TABLE = ''idem_record'', SCHEMA = ''public'', CONSTRAINT = current_setting(''idem.held'', true); END'; \
         CREATE {trigger} EXECUTE FUNCTION give_up()"
    ))
    .await;
}

/// A trigger may raise any code, including those that the library's own statements raise.
#[tokio::test]
async fn a_code_raised_by_a_trigger_at_record_or_commit_keeps_nothing_and_is_refused() {
    let before = "TRIGGER give_up BEFORE INSERT ON idem_record FOR EACH ROW";
    let deferred = "CONSTRAINT TRIGGER give_up AFTER INSERT ON payment DEFERRABLE INITIALLY DEFERRED FOR EACH ROW";
    for (trigger, table) in [(before, "idem_record"), (deferred, "payment")] {
        let shop = Shop::open(1).await;
        // A BEFORE trigger is refused by verification, unless it is created after it.
        pay(&shop.pool, &fresh_key(), &CMD).await.expect("fresh");
        for code in CODES {
            raises(&shop, trigger, code).await;
            let key = fresh_key();
            let refused = pay(&shop.pool, &key, &CMD).await;
            refused.expect_err("the trigger gives up").refusal();
            shop.assert_no_effect(&key).await;
            shop.run(&format!("DROP TRIGGER give_up ON {table}")).await;
            let paid = pay(&shop.pool, &key, &CMD).await;
            assert!(!paid.expect("it is fresh").replayed(), "{code}");
            shop.assert_one_effect(&key).await;
        }
    }
}

/// Pays, then sends `sql` and does not wait for the answer.
#[idempotent(namespace = "payments", operation = "pay", skip(sql))]
async fn pay_and_give_up(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
    sql: &str,
) -> Result<Paid, PayError> {
    let paid = charge(tx, key, cmd).await?;
    let mut call = pin!(tx.execute(sqlx::raw_sql(AssertSqlSafe(sql))));
    poll_fn(|context| {
        let _ = call.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
    Ok(paid)
}

#[tokio::test]
async fn an_answer_that_the_body_left_unread_is_not_taken_for_that_of_the_record() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    pay_and_give_up(&shop.pool, &key, &CMD, "SELECT 1; SELECT 2")
        .await
        .expect("it has done no harm");
    shop.assert_one_effect(&key).await;
    for code in CODES {
        let key = fresh_key();
        let sql = format!(
            "SELECT 1; DO 'BEGIN RAISE EXCEPTION USING ERRCODE = ''{code}'', TABLE = ''idem_record'', SCHEMA = ''public''; END'"
        );
        let refused = pay_and_give_up(&shop.pool, &key, &CMD, &sql).await;
        refused.expect_err("its writes are gone").refusal();
        shop.assert_no_effect(&key).await;
        let paid = pay(&shop.pool, &key, &CMD).await;
        assert!(!paid.expect("it is fresh").replayed(), "{code}");
        shop.assert_one_effect(&key).await;
    }
    for (sql, kept) in [
        ("COMMIT", 1),
        ("COMMIT AND CHAIN", 1),
        ("COMMIT; BEGIN", 1),
        ("ROLLBACK AND CHAIN", 0),
        ("ROLLBACK", 0),
        ("SELECT pg_terminate_backend(pg_backend_pid())", 0),
    ] {
        let key = fresh_key();
        let refused = pay_and_give_up(&shop.pool, &key, &CMD, sql).await;
        refused.expect_err("the transaction is gone");
        assert_eq!(shop.effects(&key).await, (kept, 0), "{sql}");
    }
}

#[tokio::test]
async fn a_body_that_uses_its_session_in_any_lawful_way_pays_once() {
    let shop = Shop::open(1).await;
    for sql in [
        "LISTEN a; NOTIFY a, 'b'",
        "UNLISTEN *",
        "CLOSE ALL; DECLARE c CURSOR WITH HOLD FOR SELECT * FROM payment",
        "SELECT pg_advisory_lock(1)",
        "SELECT pg_advisory_unlock_all()",
        "DISCARD PLANS",
        "SAVEPOINT mine",
        "SAVEPOINT mine; SAVEPOINT yours; RELEASE mine",
        "CREATE TEMP TABLE t (a int) ON COMMIT DROP",
        "SET search_path = public, pg_catalog",
        "SET search_path = pg_catalog, public",
        "RESET search_path",
        "SET LOCAL plan_cache_mode = force_custom_plan",
        "SET plan_cache_mode = force_generic_plan",
        "SET LOCAL session_replication_role = replica",
        "SET CONSTRAINTS ALL IMMEDIATE",
        "SET idem.verified = ''",
        "SET idem.verified = 'x'",
        "SET default_transaction_read_only = on",
        "SET default_transaction_deferrable = on",
        "ALTER TABLE idem_record ADD COLUMN IF NOT EXISTS more int DEFAULT 1",
        "ALTER TABLE idem_record ADD COLUMN IF NOT EXISTS twice int GENERATED ALWAYS AS (attempt * 2) STORED",
        "ALTER TABLE idem_record DROP COLUMN IF EXISTS more",
        "BEGIN; BEGIN",
        "SET default_transaction_isolation = serializable",
    ] {
        for _ in 0..2 {
            let key = fresh_key();
            let paid = pay_then(&shop.pool, &key, &CMD, sql).await;
            let paid = paid.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
            assert!(!paid.replayed(), "{sql}");
            let again = pay(&shop.pool, &key, &CMD).await;
            assert!(
                again
                    .unwrap_or_else(|error| panic!("{sql}: {error:?}"))
                    .replayed(),
                "{sql}"
            );
            shop.assert_one_effect(&key).await;
        }
    }
}

#[tokio::test]
async fn a_body_that_makes_the_record_impossible_keeps_nothing() {
    for sql in [
        "SET TRANSACTION READ ONLY",
        "SET LOCAL idem.held = 'x'",
        "SELECT set_config('idem.held', regexp_replace(current_setting('idem.held'), ',[0-9]+;', ',1;'), true)",
        "DROP TABLE idem_record CASCADE",
        "ALTER TABLE idem_record RENAME TO elsewhere",
        "ALTER TABLE idem_record DROP COLUMN operation CASCADE",
        "DROP TABLE idem_record CASCADE; CREATE TABLE idem_record (a int)",
    ] {
        let shop = Shop::open(1).await;
        for _ in 0..2 {
            let key = fresh_key();
            let refused = pay_then(&shop.pool, &key, &CMD, sql).await;
            refused.expect_err(sql).refusal();
            shop.assert_no_effect(&key).await;
            let paid = pay(&shop.pool, &key, &CMD).await;
            assert!(!paid.unwrap_or_else(|e| panic!("{sql}: {e:?}")).replayed());
            shop.assert_one_effect(&key).await;
        }
    }
}

#[idempotent(namespace = "payments", operation = "pay")]
async fn pay_and_panic(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await?;
    panic!("on purpose");
}

#[tokio::test]
async fn a_body_that_panics_keeps_nothing_and_costs_its_pool_nothing() {
    let shop = Shop::open(1).await;
    for _ in 0..2 {
        let key = fresh_key();
        let (pool, asked) = (shop.pool.clone(), key.clone());
        let call = tokio::spawn(async move { pay_and_panic(&pool, &asked, &CMD).await.is_ok() });
        assert!(call.await.is_err(), "it panics");
        let answered = async {
            loop {
                match pay(&shop.pool, &key, &CMD).await {
                    Err(PayError::Idempotency(Error::InFlight { .. })) => {}
                    answer => break answer,
                }
            }
        };
        let paid = in_time("the key stays in flight", answered).await;
        assert!(!paid.expect("it is fresh").replayed());
        shop.assert_one_effect(&key).await;
    }
}
