//! The options `key`, `scope`, `key_required` and `table`.

use idem_runtime::{Error, IdempotencyKey, Scope, idempotent, schema};
use idem_tests::postgres::payments::{Paid, Pay, PayError, charge, pay};
use idem_tests::postgres::{Shop, fresh_key};
use serde::Serialize;
use sqlx::postgres::PgTransaction;

const CMD: Pay = Pay { amount: 1 };

#[derive(Serialize)]
struct Order {
    tenant: String,
    number: String,
    amount: i64,
}

impl Order {
    fn new(tenant: &str, amount: i64) -> Self {
        Self {
            tenant: tenant.to_owned(),
            number: fresh_key().as_str().to_owned(),
            amount,
        }
    }

    fn key(&self) -> IdempotencyKey {
        self.number.parse().expect("it is a key")
    }

    async fn charge(&self, tx: &mut PgTransaction<'_>) -> Result<Paid, PayError> {
        charge(
            tx,
            &self.key(),
            &Pay {
                amount: self.amount,
            },
        )
        .await
    }
}

#[idempotent(namespace = "payments", key = &order.number, scope = &order.tenant)]
async fn in_band(tx: &mut PgTransaction<'_>, order: &Order) -> Result<Paid, PayError> {
    order.charge(tx).await
}

#[idempotent(namespace = "payments", key = natural(order.tenant, order.number), scope = Scope::GLOBAL)]
async fn natural(tx: &mut PgTransaction<'_>, order: &Order) -> Result<Paid, PayError> {
    order.charge(tx).await
}

#[idempotent(namespace = "payments", key_required = false)]
async fn unkeyed(
    tx: &mut PgTransaction<'_>,
    key: Option<IdempotencyKey>,
    order: &Order,
) -> Result<Paid, PayError> {
    order.charge(tx).await
}

#[idempotent(namespace = "payments")]
async fn keyed(
    tx: &mut PgTransaction<'_>,
    key: Option<IdempotencyKey>,
    order: &Order,
) -> Result<Paid, PayError> {
    order.charge(tx).await
}

#[idempotent(namespace = "payments", table = "app.keys")]
async fn elsewhere(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await
}

#[tokio::test]
async fn an_in_band_key_is_read_inside_its_scope() {
    let shop = Shop::open(1).await;
    let mut order = Order::new("north", 1);
    assert!(!in_band(&shop.pool, &order).await.expect("fresh").replayed());
    assert!(
        in_band(&shop.pool, &order)
            .await
            .expect("recorded")
            .replayed()
    );
    order.tenant = "south".to_owned();
    assert!(
        !in_band(&shop.pool, &order)
            .await
            .expect("another's key")
            .replayed()
    );
    assert_eq!(shop.payments(&order.key()).await, 2);
}

#[tokio::test]
async fn a_natural_key_names_the_effect_itself() {
    let shop = Shop::open(1).await;
    let mut order = Order::new("north", 1);
    assert!(!natural(&shop.pool, &order).await.expect("fresh").replayed());
    assert!(
        natural(&shop.pool, &order)
            .await
            .expect("recorded")
            .replayed()
    );
    order.amount = 2;
    let refusal = natural(&shop.pool, &order).await;
    let refusal = refusal.expect_err("it differs").refusal();
    assert!(matches!(refusal, Error::Mismatch(_)), "{refusal:?}");
    order.tenant = "south".to_owned();
    assert!(
        !natural(&shop.pool, &order)
            .await
            .expect("another effect")
            .replayed()
    );
    order.tenant = " ".to_owned();
    let refusal = natural(&shop.pool, &order)
        .await
        .expect_err("a blank part")
        .refusal();
    assert!(matches!(refusal, Error::Invalid(_)), "{refusal:?}");
    assert_eq!(shop.payments(&order.key()).await, 2);
}

#[tokio::test]
async fn a_call_without_a_key_runs_each_time_only_where_that_is_allowed() {
    let shop = Shop::open(1).await;
    let order = Order::new("north", 1);
    for _ in 0..2 {
        assert!(
            !unkeyed(&shop.pool, None, &order)
                .await
                .expect("it runs")
                .replayed()
        );
    }
    assert_eq!(
        (
            shop.payments(&order.key()).await,
            shop.records(&order.key()).await
        ),
        (2, 0)
    );
    let mut tx = shop.pool.begin().await.expect("a transaction");
    unkeyed(&mut tx, None, &order).await.expect("it runs");
    tx.rollback().await.expect("the server answers");
    assert_eq!(shop.payments(&order.key()).await, 2);
    let key = order.key().global();
    assert!(
        !unkeyed(&shop.pool, Some(key.clone()), &order)
            .await
            .expect("fresh")
            .replayed()
    );
    assert!(
        unkeyed(&shop.pool, Some(key), &order)
            .await
            .expect("recorded")
            .replayed()
    );
    let refusal = keyed(&shop.pool, None, &order)
        .await
        .expect_err("it needs one")
        .refusal();
    assert!(matches!(refusal, Error::KeyMissing { .. }), "{refusal:?}");
    assert_eq!(shop.payments(&order.key()).await, 3);
}

#[tokio::test]
async fn a_key_without_a_scope_is_refused() {
    let shop = Shop::open(1).await;
    let key: IdempotencyKey = "unscoped".parse().expect("it is a key");
    let refusal = pay(&shop.pool, &key, &CMD)
        .await
        .expect_err("whose is it?")
        .refusal();
    assert!(matches!(refusal, Error::ScopeMissing { .. }), "{refusal:?}");
    shop.assert_no_effect(&key).await;
}

#[tokio::test]
async fn another_table_holds_its_own_keys() {
    let shop = Shop::open(1).await;
    shop.run("CREATE SCHEMA app").await;
    let mut connection = shop.database.connect().await;
    schema::create_table_if_missing(&mut connection, "app.keys")
        .await
        .expect("a table");
    schema::verify_table(&mut connection, "app.keys")
        .await
        .expect("it is fit");
    let key = fresh_key();
    assert!(
        !elsewhere(&shop.pool, &key, &CMD)
            .await
            .expect("fresh")
            .replayed()
    );
    assert!(
        elsewhere(&shop.pool, &key, &CMD)
            .await
            .expect("recorded")
            .replayed()
    );
    assert_eq!(
        (shop.payments(&key).await, shop.records(&key).await),
        (1, 0)
    );
    assert!(
        !pay(&shop.pool, &key, &CMD)
            .await
            .expect("fresh here")
            .replayed()
    );
}
