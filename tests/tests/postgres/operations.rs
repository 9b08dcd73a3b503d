//! Operations whose name is determined by each call, and the `Debug` text of the database argument.

use idem_runtime::handler::{Begin, LeaseSource};
use idem_runtime::{Error, IdempotencyKey, idempotent};
use idem_tests::postgres::payments::{Paid, Pay, PayError, charge};
use idem_tests::postgres::{Shop, fresh_key};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgTransaction};

const CMD: Pay = Pay { amount: 1 };

#[idempotent(namespace = "imports", operation = std::any::type_name::<T>())]
async fn import<T>(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await
}

#[tokio::test]
async fn a_type_parameter_in_its_name_makes_an_operation_of_each_type() {
    let shop = Shop::open(2).await;
    let key = fresh_key();
    for replayed in [false, true] {
        let imported = import::<i32>(&shop.pool, &key, &CMD).await;
        assert_eq!(imported.expect("imported").replayed(), replayed);
    }
    let refusal = import::<String>(&shop.pool, &key, &CMD).await;
    let refusal = refusal.expect_err("another operation").refusal();
    assert!(matches!(refusal, Error::Mismatch(_)), "{refusal:?}");
    shop.assert_one_effect(&key).await;
}

/// Formats a value as `#[tracing::instrument]` formats an argument.
fn shown<'c>(db: impl Begin<'c, PgTransaction<'c>>) -> String {
    let text = format!("{db:?}");
    drop(db);
    text
}

fn shown_of_a_lease(db: impl LeaseSource) -> String {
    let text = format!("{db:?}");
    drop(db);
    text
}

#[tokio::test]
async fn what_a_call_begins_on_is_shown_without_where_it_is_and_how_one_gets_in() {
    let options = PgConnectOptions::new()
        .host("db.internal")
        .username("cashier")
        .password("s3cret");
    let pool = PgPoolOptions::new().connect_lazy_with(options);
    for text in [shown(&pool), shown_of_a_lease(&pool)] {
        assert!(text.starts_with("Pool"), "{text}");
        for secret in ["db.internal", "cashier", "s3cret"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
    let shop = Shop::open(1).await;
    let mut conn = shop.pool.acquire().await.expect("a connection");
    assert_eq!(shown(&mut conn), "PoolConnection");
    assert_eq!(shown(&mut *conn), "PgConnection");
    drop(conn);
    let mut tx = shop.pool.begin().await.expect("a transaction");
    assert_eq!(shown(&mut tx), "Transaction");
}
