//! A table that was found fit, and is no longer that, or is not the one that a session finds.

use idem_runtime::Error;
use idem_runtime::error::SchemaFault;
use idem_runtime::schema;
use idem_tests::mysql::payments::{self, Pay, pay};
use idem_tests::mysql::{Shop, fresh_key};
use sqlx::{AssertSqlSafe, Executor as _, MySqlPool};

const CMD: Pay = Pay { amount: 1 };

/// Opens a shop in which the table is known to be fit.
async fn known() -> Shop {
    let shop = Shop::open(1).await;
    for _ in 0..2 {
        pay(&shop.pool, &fresh_key(), &CMD).await.expect("fresh");
    }
    shop
}

/// Runs statements on the pool's only connection.
async fn on(pool: &MySqlPool, sql: &str) {
    let done = pool.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await;
    done.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

async fn assert_unfit(shop: &Shop, is: fn(&SchemaFault) -> bool) {
    let key = fresh_key();
    let refusal = pay(&shop.pool, &key, &CMD).await.expect_err("it is unfit");
    let refusal = refusal.refusal();
    assert!(
        matches!(&refusal, Error::Schema(fault) if is(fault)),
        "{refusal:?}"
    );
    let payments = shop.payments(&key).await;
    assert_eq!(payments, 0, "the body is rolled back");
}

#[tokio::test]
async fn a_table_that_lost_its_primary_key_since_is_refused_and_nothing_is_committed() {
    let shop = known().await;
    shop.run("ALTER TABLE idem_record DROP PRIMARY KEY, ADD KEY (namespace, scope, `key`)")
        .await;
    for _ in 0..2 {
        assert_unfit(&shop, |fault| {
            matches!(fault, SchemaFault::NoArbiter { .. })
        })
        .await;
    }
    shop.run("ALTER TABLE idem_record ADD PRIMARY KEY (namespace, scope, `key`)")
        .await;
    let key = fresh_key();
    pay(&shop.pool, &key, &CMD).await.expect("fit again");
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_table_altered_without_harm_since_is_verified_and_serves() {
    let shop = known().await;
    shop.run("ALTER TABLE idem_record ADD COLUMN note TEXT NULL")
        .await;
    for _ in 0..2 {
        let key = fresh_key();
        let paid = pay(&shop.pool, &key, &CMD).await.expect("fit");
        assert!(!paid.replayed());
        shop.assert_one_effect(&key).await;
    }
}

#[tokio::test]
async fn a_temporary_table_that_hides_the_one_known_to_be_fit_is_refused() {
    let shop = known().await;
    on(
        &shop.pool,
        "CREATE TEMPORARY TABLE hides LIKE idem_record; ALTER TABLE hides RENAME idem_record",
    )
    .await;
    for _ in 0..2 {
        assert_unfit(&shop, |fault| {
            matches!(fault, SchemaFault::NotPermanent { .. })
        })
        .await;
    }
    on(&shop.pool, "DROP TEMPORARY TABLE idem_record").await;
    let key = fresh_key();
    pay(&shop.pool, &key, &CMD).await.expect("fit again");
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_connection_in_another_database_is_not_taken_for_one_where_the_table_is_fit() {
    let (shop, other) = (known().await, Shop::open(1).await);
    other
        .run("ALTER TABLE idem_record DROP PRIMARY KEY, ADD KEY (namespace, scope, `key`)")
        .await;
    let (here, there) = (shop.database.name(), other.database.name());
    on(&shop.pool, &format!("USE `{there}`")).await;
    assert_unfit(&shop, |fault| {
        matches!(fault, SchemaFault::NoArbiter { .. })
    })
    .await;
    assert_eq!(other.effects(&fresh_key()).await, (0, 0));
    let payments = "SELECT count(*) FROM payment";
    let paid: i64 = sqlx::query_scalar(payments)
        .fetch_one(&other.pool)
        .await
        .expect("the server answers");
    assert_eq!(paid, 0);
    on(&shop.pool, &format!("USE `{here}`")).await;
    let key = fresh_key();
    pay(&shop.pool, &key, &CMD).await.expect("fit");
    shop.assert_one_effect(&key).await;
}

/// The same key is another key in another database.
#[tokio::test]
async fn a_record_of_another_database_is_never_replayed() {
    let shop = known().await;
    let other = format!("{}_b", shop.database.name());
    shop.run(&format!("CREATE DATABASE `{other}`")).await;
    let options = shop.database.options().clone().database(&other);
    let there = shop.pool_by(1, options);
    on(&there, payments::TABLE).await;
    let mut conn = there.acquire().await.expect("a connection");
    schema::create_if_missing(&mut *conn)
        .await
        .expect("a table");
    drop(conn);
    let key = fresh_key();
    pay(&shop.pool, &key, &CMD).await.expect("fresh");
    // The process knows the key, and the connection was there before.
    on(&shop.pool, &format!("USE `{other}`")).await;
    for replayed in [false, true] {
        let paid = pay(&shop.pool, &key, &CMD).await.expect("fresh there");
        assert_eq!(paid.replayed(), replayed);
    }
    shop.assert_one_effect(&key).await;
    shop.run(&format!("DROP DATABASE `{other}`")).await;
}

/// What a process remembers of a key only chooses its first message.
#[tokio::test]
async fn a_key_that_is_remembered_and_has_no_record_any_more_is_fresh() {
    let shop = known().await;
    let key = fresh_key();
    for _ in 0..2 {
        let paid = pay(&shop.pool, &key, &CMD).await.expect("fresh");
        assert!(!paid.replayed());
        shop.assert_one_effect(&key).await;
        shop.run("DELETE FROM idem_record; DELETE FROM payment")
            .await;
    }
}
