//! Connections that are already inside a transaction, or read-only.

use idem_runtime::{Error, IdempotencyKey, idempotent, schema};
use idem_tests::postgres::payments::{Paid, Pay, PayError, charge, pay};
use idem_tests::postgres::{Cluster, Options, Shop, fresh_key};
use sqlx::postgres::{PgConnectOptions, PgTransaction};
use sqlx::{AssertSqlSafe, Executor as _};

const CMD: Pay = Pay { amount: 1 };

/// Transactions that sqlx does not know of: new, used, read-only, aborted.
const BY_HAND: [&str; 4] = [
    "BEGIN",
    "BEGIN; INSERT INTO payment (key, amount) VALUES ('by hand', 1)",
    "BEGIN READ ONLY; SELECT count(*) FROM payment",
    "BEGIN; INSERT INTO payment (key, amount) VALUES ('by hand', 1); SELECT 1 / 0",
];

fn by_hand() -> IdempotencyKey {
    "by hand".parse().expect("it is a key")
}

#[tokio::test]
async fn a_connection_in_a_transaction_begun_by_hand_is_refused_and_given_back_outside_of_it() {
    for sql in BY_HAND {
        let shop = Shop::open(1).await;
        let key = fresh_key();
        let mut connection = shop.database.connect().await;
        let _ = connection.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await;
        let refusal = pay(&mut connection, &key, &CMD)
            .await
            .expect_err("it is not ours")
            .refusal();
        assert!(
            matches!(refusal, Error::AlreadyInTransaction),
            "{sql}: {refusal:?}"
        );
        shop.observer().await.until_no_transaction().await;
        shop.assert_no_effect(&key).await;
        let paid = pay(&mut connection, &key, &CMD).await;
        assert!(!paid.expect("it is outside now").replayed(), "{sql}");
        shop.assert_one_effect(&key).await;
        assert_eq!(
            shop.payments(&by_hand()).await,
            0,
            "{sql}: it was rolled back"
        );
    }
}

#[tokio::test]
async fn a_pool_with_a_connection_leaked_inside_a_transaction_is_refused_and_then_usable() {
    for sql in BY_HAND {
        let shop = Shop::open(1).await;
        let key = fresh_key();
        if sql == "BEGIN" {
            // The connection knows the library's statements.
            pay(&shop.pool, &fresh_key(), &CMD).await.expect("paid");
        }
        let mut connection = shop.pool.acquire().await.expect("a connection");
        let _ = connection.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await;
        drop(connection);
        let refusal = pay(&shop.pool, &key, &CMD)
            .await
            .expect_err("it is not ours")
            .refusal();
        assert!(
            matches!(refusal, Error::AlreadyInTransaction),
            "{sql}: {refusal:?}"
        );
        shop.assert_no_effect(&key).await;
        let paid = pay(&shop.pool, &key, &CMD).await;
        assert!(!paid.expect("the pool is usable").replayed(), "{sql}");
        shop.assert_one_effect(&key).await;
        assert_eq!(
            shop.payments(&by_hand()).await,
            0,
            "{sql}: it was rolled back"
        );
    }
}

#[idempotent(namespace = "payments", operation = "pay", key_required = false)]
async fn pay_perhaps_keyed(
    tx: &mut PgTransaction<'_>,
    key: Option<&IdempotencyKey>,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key.unwrap_or(&by_hand()), cmd).await
}

#[tokio::test]
async fn a_call_without_a_key_does_not_join_a_transaction_begun_by_hand_either() {
    for sql in BY_HAND {
        let shop = Shop::open(1).await;
        let mut connection = shop.database.connect().await;
        let _ = connection.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await;
        let refusal = pay_perhaps_keyed(&mut connection, None, &CMD).await;
        let refusal = refusal.expect_err("it is not ours").refusal();
        assert!(
            matches!(refusal, Error::AlreadyInTransaction),
            "{sql}: {refusal:?}"
        );
        shop.observer().await.until_no_transaction().await;
        assert_eq!(shop.payments(&by_hand()).await, 0, "{sql}");
        pay_perhaps_keyed(&mut connection, None, &CMD)
            .await
            .expect("it is outside now");
        assert_eq!(shop.payments(&by_hand()).await, 1, "{sql}");
    }
}

/// A standby would answer from an older state.
#[tokio::test]
async fn a_hot_standby_refuses_even_a_replay() {
    let primary = Cluster::start(Options::new()).expect("a server");
    let shop = Shop::open_on(&primary, 1).await;
    let (recorded, fresh) = (fresh_key(), fresh_key());
    pay(&shop.pool, &recorded, &CMD)
        .await
        .expect("a primary writes");
    let standby = Cluster::standby_of(&primary).expect("a standby");
    let options = shop.database.options().clone().port(standby.port());
    let pool = shop.pool_by(1, options);
    for key in [&recorded, &fresh] {
        let refusal = pay(&pool, key, &CMD)
            .await
            .expect_err("it is no primary")
            .refusal();
        assert!(matches!(refusal, Error::ReadOnly(_)), "{refusal:?}");
        assert!(refusal.is_retryable());
    }
    shop.assert_one_effect(&recorded).await;
    shop.assert_no_effect(&fresh).await;
}

#[tokio::test]
async fn a_session_that_is_read_only_by_default_is_asked_to_write() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let options = shop.database.options().clone();
    let pool = shop.pool_by(
        1,
        options.options([("default_transaction_read_only", "on")]),
    );
    pay(&pool, &key, &CMD)
        .await
        .expect("the unit of work asks to write");
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_missing_table_is_a_fault_of_the_schema_and_the_body_does_not_run() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    shop.run("DROP TABLE idem_record CASCADE").await;
    let refusal = pay(&shop.pool, &key, &CMD)
        .await
        .expect_err("no table")
        .refusal();
    assert!(matches!(refusal, Error::Schema(_)), "{refusal:?}");
    let mut connection = shop.pool.acquire().await.expect("the pool is usable");
    schema::create_if_missing(&mut *connection)
        .await
        .expect("a table");
    drop(connection);
    pay(&shop.pool, &key, &CMD).await.expect("a table is there");
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_host_or_user_that_no_url_can_bear_is_no_panic() {
    let nowhere = PgConnectOptions::new_without_pgpass().port(1);
    for options in [
        nowhere.clone().host("::1"),
        nowhere.clone().host("fe80::1%lo"),
        nowhere.host("127.0.0.1").username("a/b?c#d@e:f"),
    ] {
        let pool = sqlx::postgres::PgPoolOptions::new()
            .acquire_timeout(std::time::Duration::from_millis(50))
            .connect_lazy_with(options);
        let refusal = pay(&pool, &fresh_key(), &CMD)
            .await
            .expect_err("nobody is there")
            .refusal();
        assert!(matches!(refusal, Error::Unavailable(_)), "{refusal:?}");
    }
}

#[tokio::test]
async fn a_pool_without_named_statements_pays_and_replays() {
    let shop = Shop::open(1).await;
    let options = shop.database.options().clone().statement_cache_capacity(0);
    let pool = sqlx::postgres::PgPoolOptions::new()
        .max_connections(1)
        .connect_with(options)
        .await
        .expect("a pool as behind a pooler in transaction mode");
    let key = fresh_key();
    assert!(!pay(&pool, &key, &CMD).await.expect("it pays").replayed());
    assert!(pay(&pool, &key, &CMD).await.expect("it replays").replayed());
    let mut tx = pool.begin().await.expect("a transaction");
    assert!(
        pay(&mut tx, &key, &CMD)
            .await
            .expect("it replays")
            .replayed()
    );
    tx.commit().await.expect("it commits");
    shop.assert_one_effect(&key).await;
    let named: Vec<String> = sqlx::query_scalar(
        "SELECT statement FROM pg_prepared_statements WHERE statement LIKE '%idem%'",
    )
    .persistent(false)
    .fetch_all(&pool)
    .await
    .expect("the statements of the session");
    assert!(
        named.is_empty(),
        "the body's own statement may have a name: {named:#?}"
    );
}
