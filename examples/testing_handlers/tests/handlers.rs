//! The tests that `docs/testing.md` shows.

#![allow(
    clippy::large_futures,
    reason = "a test is written as its reader would write it"
)]

use std::future::pending;
use std::sync::Arc;

use idem_runtime::handler::DescribeOperation as _;
use idem_runtime::operate::StoredStatus;
use idem_runtime::testing::{self, Records};
use sqlx::SqlitePool;
use testing_handlers::mail::{Mailer, SendReceipt, send_receipt};
use testing_handlers::{OrderError, PlaceOrder, PlaceOrderOperation, Placed, place_order};
use tokio::sync::Notify;

fn tea() -> PlaceOrder {
    let item = "tea".to_owned();
    PlaceOrder { item }
}

async fn orders(pool: &SqlitePool) -> i64 {
    let count = sqlx::query_scalar("SELECT count(*) FROM orders");
    count.fetch_one(pool).await.expect("the orders")
}

#[sqlx::test]
async fn a_retry_gets_the_same_order_and_places_no_other(pool: SqlitePool) {
    testing::install(&pool).await;
    let (key, order) = (testing::key("order-1"), tea());
    let twice = testing::twice(|| place_order(&pool, &key, &order));
    let placed = testing::one_effect(async || orders(&pool).await, twice).await;
    assert_eq!(placed.number, 1);
}

#[sqlx::test]
async fn a_permanent_failure_is_recorded(pool: SqlitePool) {
    testing::install(&pool).await;
    let (key, item) = (testing::key("order-1"), "snow".to_owned());
    let snow = PlaceOrder { item };
    let refused = testing::twice_failing(|| place_order(&pool, &key, &snow)).await;
    assert!(matches!(refused, OrderError::SoldOut { .. }));
}

#[sqlx::test]
async fn a_client_may_hang_up_at_any_moment(pool: SqlitePool) {
    testing::install(&pool).await;
    let dropped = testing::interrupted_at_every_await(
        async || orders(&pool).await,
        async |key| place_order(&pool, key, &tea()).await,
    );
    assert!(dropped.await > 0);
}

#[sqlx::test]
async fn a_record_can_be_read_expired_and_forgotten(pool: SqlitePool) {
    testing::install(&pool).await;
    let (key, records) = (
        testing::key("order-1"),
        Records::of(&pool, PlaceOrderOperation::OPERATION),
    );
    assert!(records.record_of(&key).await.is_none());

    let placed = place_order(&pool, &key, &tea()).await.expect("placed");
    let record = records.record_of(&key).await.expect("a record");
    assert_eq!(record.result::<Placed>(), *placed);
    assert_eq!(
        (record.status(), record.attempt()),
        (StoredStatus::COMPLETED, 1)
    );

    // With `expiry = "strict"` an old key is a new one.
    records.expire(&key).await;
    let again = place_order(&pool, &key, &tea()).await.expect("placed");
    assert_eq!((again.replayed(), again.number), (false, 2));

    records.forget(&key).await;
    let again = place_order(&pool, &key, &tea()).await.expect("placed");
    assert_eq!((again.replayed(), again.number), (false, 3));
}

/// Sends nothing at the first time, for ever; then it sends.
#[derive(Default)]
struct StuckOnce {
    is_stuck: Notify,
    was_stuck: std::sync::atomic::AtomicBool,
}

impl Mailer for StuckOnce {
    async fn send(&self, _: &str) {
        if !self
            .was_stuck
            .swap(true, std::sync::atomic::Ordering::SeqCst)
        {
            self.is_stuck.notify_one();
            pending::<()>().await;
        }
    }
}

#[sqlx::test]
async fn the_lease_of_a_stuck_sender_is_taken_over(pool: SqlitePool) {
    testing::install(&pool).await;
    let (key, mailer) = (testing::key("receipt-1"), Arc::new(StuckOnce::default()));
    let send = || {
        send_receipt(
            &pool,
            &key,
            mailer.clone(),
            pool.clone(),
            "ada@example.org".into(),
        )
    };

    tokio::select! {
        _ = send() => panic!("it is stuck"),
        () = mailer.is_stuck.notified() => {} // the call is dropped, and its run goes on
    }
    Records::of(&pool, SendReceipt::OPERATION).lapse(&key).await;
    assert_eq!(*send().await.expect("sent"), 2); // the second attempt
}

#[sqlx::test]
async fn a_test_may_do_without_idempotency(pool: SqlitePool) {
    // No table of records, and no key that a call before has used.
    let key = testing::key("any");
    testing::without_idempotency(async {
        for number in 1..=3 {
            let placed = place_order(&pool, &key, &tea()).await.expect("placed");
            assert_eq!((placed.replayed(), placed.number), (false, number));
        }
    })
    .await;
    assert!(place_order(&pool, &key, &tea()).await.is_err()); // on again: the table is missing
}
