//! Prepared statements that the server no longer knows, or no longer runs.

use std::time::Duration;

use idem_runtime::policy::OnLapse;
use idem_runtime::store::RawStore;
use idem_runtime::{Error, IdempotencyKey, LeasedOperation, Namespace, Operation};
use idem_tests::postgres::payments::{Pay, PayError, pay, pay_then};
use idem_tests::postgres::{Shop, fresh_key};
use sqlx::{AssertSqlSafe, Executor as _, PgConnection};

const CMD: Pay = Pay { amount: 1 };

/// Actions that invalidate the statements of one session, and of every session that looks the
/// record up.
const DEATHS: [&str; 5] = [
    "DISCARD ALL",
    "DEALLOCATE ALL",
    "DROP VIEW idem_record_readable; ALTER TABLE idem_record ALTER operation TYPE varchar(300)",
    "DROP VIEW idem_record_readable; ALTER TABLE idem_record ALTER attempt_id TYPE uuid USING attempt_id, \
     ALTER request TYPE bytea, ALTER operation TYPE varchar(400)",
    "ALTER TABLE idem_record ADD COLUMN more int DEFAULT 1",
];

async fn run(connection: &mut PgConnection, sql: &str) {
    connection
        .execute(sqlx::raw_sql(AssertSqlSafe(sql)))
        .await
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
}

async fn pid(connection: &mut PgConnection) -> i32 {
    sqlx::query_scalar("SELECT pg_backend_pid()")
        .persistent(false)
        .fetch_one(connection)
        .await
        .expect("the server answers")
}

#[tokio::test]
async fn a_pool_whose_prepared_statements_died_pays_and_replays_at_once() {
    for sql in DEATHS {
        let shop = Shop::open(1).await;
        let recorded = fresh_key();
        pay(&shop.pool, &recorded, &CMD).await.expect("fresh");
        pay(&shop.pool, &recorded, &CMD).await.expect("recorded");
        for key in [&recorded, &fresh_key()] {
            run(
                &mut shop.pool.acquire().await.expect("a connection"),
                sql_once(sql, key, &recorded),
            )
            .await;
            let paid = pay(&shop.pool, key, &CMD).await;
            let paid = paid.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
            assert_eq!(paid.replayed(), *key == recorded, "{sql}");
            shop.assert_one_effect(key).await;
        }
    }
}

#[tokio::test]
async fn a_leased_call_on_a_pool_whose_prepared_statements_died_runs_and_replays_at_once() {
    const NOTE: LeasedOperation =
        Operation::new("mail", "note").lease(Duration::from_mins(5), OnLapse::Unknown);
    for sql in DEATHS {
        let shop = Shop::open(1).await;
        let note = async |key: &IdempotencyKey| {
            let body = |_| async { Ok::<_, Error>(1) };
            NOTE.run(&shop.pool, key, &1, body).await
        };
        let recorded = fresh_key();
        note(&recorded).await.expect("fresh");
        for key in [&recorded, &fresh_key()] {
            run(
                &mut shop.pool.acquire().await.expect("a connection"),
                sql_once(sql, key, &recorded),
            )
            .await;
            let noted = note(key).await;
            let noted = noted.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
            assert_eq!(noted.replayed(), *key == recorded, "{sql}");
        }
    }
}

/// Altering or adding a column works only once.
fn sql_once<'s>(sql: &'s str, key: &IdempotencyKey, recorded: &IdempotencyKey) -> &'s str {
    if sql.contains("ALTER") && key != recorded {
        "SELECT 1"
    } else {
        sql
    }
}

#[tokio::test]
async fn a_callers_connection_whose_prepared_statements_died_pays_and_replays_at_once() {
    for sql in DEATHS {
        let shop = Shop::open(1).await;
        let mut connection = shop.database.connect().await;
        let recorded = fresh_key();
        pay(&mut connection, &recorded, &CMD).await.expect("fresh");
        pay(&mut connection, &recorded, &CMD)
            .await
            .expect("recorded");
        let before = pid(&mut connection).await;
        for key in [&recorded, &fresh_key()] {
            run(&mut connection, sql_once(sql, key, &recorded)).await;
            let paid = pay(&mut connection, key, &CMD).await;
            let paid = paid.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
            assert_eq!(paid.replayed(), *key == recorded, "{sql}");
            shop.assert_one_effect(key).await;
        }
        assert_eq!(pid(&mut connection).await, before, "{sql}");
    }
}

#[tokio::test]
async fn a_callers_transaction_whose_prepared_statements_died_pays_and_replays_at_once() {
    for sql in DEATHS {
        // Not allowed inside a transaction.
        let sql = if sql == "DISCARD ALL" {
            "DISCARD PLANS; DEALLOCATE ALL"
        } else {
            sql
        };
        let shop = Shop::open(1).await;
        let recorded = fresh_key();
        let mut tx = shop.pool.begin().await.expect("a transaction");
        pay(&mut tx, &recorded, &CMD).await.expect("fresh");
        pay(&mut tx, &recorded, &CMD).await.expect("recorded");
        for key in [&recorded, &fresh_key()] {
            run(&mut tx, sql_once(sql, key, &recorded)).await;
            let paid = pay(&mut tx, key, &CMD).await;
            let paid = paid.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
            assert_eq!(paid.replayed(), *key == recorded, "{sql}");
        }
        tx.commit().await.expect("nothing is wrong with it");
        shop.assert_one_effect(&recorded).await;
    }
}

#[tokio::test]
async fn a_body_that_deallocates_all_statements_is_retryable_and_its_connection_goes_on() {
    let shop = Shop::open(1).await;
    let refused = |refused: Result<_, PayError>| {
        let refused: Error = refused.map(drop).expect_err("they are gone").refusal();
        assert!(refused.is_retryable(), "{refused:?}");
        assert!(matches!(refused, Error::StatementsLost(_)), "{refused:?}");
    };
    // Statements are cached from the second call on.
    pay(&shop.pool, &fresh_key(), &CMD).await.expect("fresh");

    let key = fresh_key();
    pay(&shop.pool, &fresh_key(), &CMD).await.expect("fresh");
    refused(pay_then(&shop.pool, &key, &CMD, "DEALLOCATE ALL").await);
    shop.assert_no_effect(&key).await;
    pay(&shop.pool, &key, &CMD).await.expect("at once");
    shop.assert_one_effect(&key).await;

    let key = fresh_key();
    let mut connection = shop.database.connect().await;
    pay(&mut connection, &fresh_key(), &CMD)
        .await
        .expect("fresh");
    pay(&mut connection, &fresh_key(), &CMD)
        .await
        .expect("fresh");
    refused(pay_then(&mut connection, &key, &CMD, "DEALLOCATE ALL").await);
    shop.assert_no_effect(&key).await;
    pay(&mut connection, &key, &CMD).await.expect("at once");
    shop.assert_one_effect(&key).await;

    let key = fresh_key();
    let mut tx = shop.pool.begin().await.expect("a transaction");
    pay(&mut tx, &fresh_key(), &CMD).await.expect("fresh");
    pay(&mut tx, &fresh_key(), &CMD).await.expect("fresh");
    refused(pay_then(&mut tx, &key, &CMD, "DEALLOCATE ALL").await);
    pay(&mut tx, &key, &CMD)
        .await
        .expect("only the savepoint was lost");
    tx.commit().await.expect("nothing is wrong with it");
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_store_on_a_connection_whose_prepared_statements_died_reads_at_once_or_in_the_next_transaction()
 {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    pay(&shop.pool, &key, &CMD).await.expect("fresh");
    let store = RawStore::new(Namespace::from_static("payments"));
    let mut connection = shop.database.connect().await;
    // A connection with a statement cache.
    pid_kept(&mut connection).await;
    for _ in 0..2 {
        let found = store.in_connection(&mut connection).get(&key).await;
        assert!(found.expect("it can be read").is_some());
        run(&mut connection, "DISCARD ALL").await;
    }
    pid_kept(&mut connection).await;
    let found = store.in_connection(&mut connection).get(&key).await;
    assert!(found.expect("it can be read").is_some());
    // In a transaction that sqlx does not know of.
    run(&mut connection, "DISCARD ALL").await;
    run(&mut connection, "BEGIN").await;
    let refused = store.in_connection(&mut connection).get(&key).await;
    let refused = refused.expect_err("the server has forgotten it");
    assert!(matches!(refused, Error::StatementsLost(_)), "{refused:?}");
    assert!(refused.is_retryable());
    run(&mut connection, "ROLLBACK").await;
    let found = store.in_connection(&mut connection).get(&key).await;
    assert!(found.expect("it can be read").is_some());
}

async fn pid_kept(connection: &mut PgConnection) {
    let _: i32 = sqlx::query_scalar("SELECT pg_backend_pid()")
        .fetch_one(connection)
        .await
        .expect("the server answers");
}
