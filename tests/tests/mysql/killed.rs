//! Sessions and client processes that are killed at each step of a call.

use idem_runtime::{Error, IdempotencyKey, Replayable, idempotent};
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::mysql::payments::{Paid, Pay, PayError, charge, pay};
use idem_tests::mysql::{Options, Server, Shop, fresh_key};
use sqlx::Executor as _;
use sqlx::mysql::MySqlTransaction;

use crate::competitors::{line, payer};

const CMD: Pay = Pay { amount: 1 };

async fn pay_here(shop: &Shop, key: &IdempotencyKey) -> Result<Replayable<Paid>, PayError> {
    pay(&shop.pool, key, &CMD).await
}

async fn retry_pays(shop: &Shop, key: &IdempotencyKey) {
    shop.assert_no_effect(key).await;
    let paid = pay_here(shop, key).await.expect("the key is fresh");
    assert!(!paid.replayed());
    shop.assert_one_effect(key).await;
}

#[tokio::test]
async fn a_session_killed_at_either_end_of_the_body_leaves_nothing_and_the_retry_pays() {
    for point in [GatePoint::BeforeWrite, GatePoint::AfterWrite] {
        let shop = Shop::open(1).await;
        let key = fresh_key();
        let gate = Gate::at(key.as_str(), point);
        let kill = async {
            gate.entered().await;
            assert_eq!(shop.observer().await.kill_others().await, 1);
            gate.open();
        };
        let (paid, ()) = tokio::join!(pay_here(&shop, &key), kill);
        drop(gate);
        match (point, paid.expect_err("its session is gone")) {
            // The body's own statement failed, so the call returns the body's own error.
            (GatePoint::BeforeWrite, PayError::Database(_)) => {}
            (GatePoint::AfterWrite, PayError::Idempotency(error @ Error::Unavailable(_))) => {
                assert!(error.is_retryable());
            }
            (point, error) => panic!("{point:?}: {error:?}"),
        }
        retry_pays(&shop, &key).await;
    }
}

#[tokio::test]
async fn a_session_killed_while_it_claims_leaves_nothing_and_the_retry_pays() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let mut holder = shop.database.connect().await;
    holder
        .execute("LOCK TABLES idem_record READ")
        .await
        .expect("nobody uses it");
    let kill = async {
        let mut observer = shop.observer().await;
        observer
            .until(
                "EXISTS (SELECT 1 FROM information_schema.processlist WHERE db = DATABASE() \
                 AND state LIKE 'Waiting for table%')",
            )
            .await;
        // Also the session of the holder.
        observer.kill_others().await;
    };
    let call = async {
        let mut tx = shop.pool.begin().await?;
        pay(&mut tx, &key, &CMD).await
    };
    let (paid, ()) = tokio::join!(call, kill);
    let refusal = paid.expect_err("its session is gone").refusal();
    assert!(matches!(refusal, Error::Unavailable(_)), "{refusal:?}");
    retry_pays(&shop, &key).await;
}

#[idempotent(namespace = "payments", operation = "pay")]
async fn panic_after_paying(
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await?;
    panic!("as told");
}

#[tokio::test]
async fn a_panic_in_the_body_leaves_nothing_and_the_pool_usable() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let (pool, same) = (shop.pool.clone(), key.clone());
    let call = tokio::spawn(async move { panic_after_paying(&pool, &same, &CMD).await });
    assert!(call.await.expect_err("it panics").is_panic());
    shop.observer().await.until_no_transaction().await;
    retry_pays(&shop, &key).await;
}

#[tokio::test]
async fn a_process_killed_in_its_body_leaves_nothing_and_the_retry_pays() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let (mut child, mut lines) = payer(&["stall", &shop.database.url(), key.as_str()]);
    assert_eq!(line(&mut lines).await.as_deref(), Some("paid"));
    child.kill().await.expect("it runs");
    shop.observer().await.until_no_transaction().await;
    retry_pays(&shop, &key).await;
}

#[tokio::test]
async fn a_server_that_crashes_in_the_body_has_kept_nothing_and_what_it_committed_it_keeps() {
    let mut server = Server::start(&Options::new()).expect("a server");
    let shop = Shop::open_on(&server, 1).await;
    let (before, key) = (fresh_key(), fresh_key());
    pay_here(&shop, &before).await.expect("fresh");
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let crash = async {
        gate.entered().await;
        server.kill().expect("it runs");
        server.resume().expect("it recovers");
        gate.open();
    };
    let (paid, ()) = tokio::join!(pay_here(&shop, &key), crash);
    drop(gate);
    let refusal = paid.expect_err("its session is gone").refusal();
    assert!(matches!(refusal, Error::Unavailable(_)), "{refusal:?}");
    retry_pays(&shop, &key).await;
    let again = pay_here(&shop, &before).await.expect("it is recorded");
    assert!(again.replayed());
    shop.assert_one_effect(&before).await;
}
