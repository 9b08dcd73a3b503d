//! The same laws on PostgreSQL and on MySQL, and what the kit says of a handler that breaks them.

use idem_runtime::handler::DescribeOperation as _;
use idem_runtime::testing::{self, Records};
use sqlx::{AssertSqlSafe, Executor as _};
use testing_handlers::PlaceOrder;
use testing_handlers::other_databases::{
    PlaceOnMySql, PlaceOnPostgres, place_on_mysql, place_on_postgres,
};

fn tea() -> PlaceOrder {
    let item = "tea".to_owned();
    PlaceOrder { item }
}

macro_rules! on {
    ($database:ident, $place:ident, $operation:ident, $pool:ty, $number:literal) => {
        mod $database {
            use super::*;

            async fn fresh() -> (idem_tests::$database::Database, $pool) {
                let database = idem_tests::$database::Database::fresh().await;
                let pool = database.pool(3);
                testing::install(&pool).await;
                let orders = concat!(
                    "CREATE TABLE orders (number ",
                    $number,
                    ", item text NOT NULL)"
                );
                pool.execute(AssertSqlSafe(orders)).await.expect("a table");
                (database, pool)
            }

            async fn orders(pool: &$pool) -> i64 {
                let count = sqlx::query_scalar("SELECT count(*) FROM orders");
                count.fetch_one(pool).await.expect("the orders")
            }

            #[tokio::test]
            async fn a_duplicate_and_an_interruption_have_one_effect() {
                let (_database, pool) = fresh().await;
                let (key, order) = (testing::key("order-1"), tea());
                let twice = testing::twice(|| $place(&pool, &key, &order));
                testing::one_effect(async || orders(&pool).await, twice).await;
                let dropped = testing::interrupted_at_every_await(
                    async || orders(&pool).await,
                    async |key| $place(&pool, key, &tea()).await,
                );
                assert!(dropped.await > 0);
            }

            #[tokio::test]
            async fn records_are_read_and_changed_by_their_key() {
                let (_database, pool) = fresh().await;
                let key = testing::key("order-1");
                let records = Records::of(&pool, $operation::OPERATION);
                let placed = $place(&pool, &key, &tea()).await.expect("placed");
                let record = records.record_of(&key).await.expect("a record");
                assert_eq!(
                    record.result::<i64>(),
                    i64::try_from(*placed).expect("a number")
                );
                assert!(!record.detail().summary.is_expired());
                records.expire(&key).await;
                let record = records.record_of(&key).await.expect("a record");
                assert!(record.detail().summary.is_expired());
                // Without `expiry = "strict"` it is replayed until it is purged.
                assert!(
                    $place(&pool, &key, &tea())
                        .await
                        .expect("placed")
                        .replayed()
                );
                records.forget(&key).await;
                assert!(
                    !$place(&pool, &key, &tea())
                        .await
                        .expect("placed")
                        .replayed()
                );
                let outside = testing::without_idempotency($place(&pool, &key, &tea())).await;
                assert!(!outside.expect("placed").replayed());
                assert_eq!(orders(&pool).await, 3);
            }
        }
    };
}

on!(
    postgres,
    place_on_postgres,
    PlaceOnPostgres,
    sqlx::PgPool,
    "bigserial PRIMARY KEY"
);
on!(
    mysql,
    place_on_mysql,
    PlaceOnMySql,
    sqlx::MySqlPool,
    "bigint PRIMARY KEY AUTO_INCREMENT"
);
