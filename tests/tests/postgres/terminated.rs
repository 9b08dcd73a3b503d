//! A server process that is terminated at each step of a call.

use idem_runtime::{Error, IdempotencyKey, Replayable, idempotent};
use idem_tests::gate::{self, Gate, GatePoint};
use idem_tests::postgres::payments::{Paid, Pay, PayError, charge, pay};
use idem_tests::postgres::{Cluster, Options, Shop, fresh_key};
use sqlx::Executor as _;
use sqlx::postgres::PgTransaction;

const CMD: Pay = Pay { amount: 1 };

/// Makes each COMMIT of a payment wait for the advisory lock 1.
pub(crate) const SLOW_COMMIT: &str = "
    CREATE FUNCTION wait_for_lock() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER slow_commit AFTER INSERT ON payment
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_for_lock()";

async fn pay_here(shop: &Shop, key: &IdempotencyKey) -> Result<Replayable<Paid>, PayError> {
    pay(&shop.pool, key, &CMD).await
}

#[tokio::test]
async fn terminated_at_either_end_of_the_body_leaves_nothing_and_the_retry_pays() {
    for point in [GatePoint::BeforeWrite, GatePoint::AfterWrite] {
        let shop = Shop::open(1).await;
        let key = fresh_key();
        let gate = Gate::at(key.as_str(), point);
        let terminate = async {
            gate.entered().await;
            assert_eq!(shop.observer().await.terminate_others().await, 1);
            gate.open();
        };
        let (paid, ()) = tokio::join!(pay_here(&shop, &key), terminate);
        drop(gate);
        match (point, paid.expect_err("its session is gone")) {
            // The body's own statement failed, so the call returns the body's own error.
            (GatePoint::BeforeWrite, PayError::Database(_)) => {}
            (GatePoint::AfterWrite, PayError::Idempotency(error @ Error::Unavailable(_))) => {
                assert!(error.is_retryable());
            }
            (point, error) => panic!("{point:?}: {error:?}"),
        }
        shop.assert_no_effect(&key).await;
        let paid = pay_here(&shop, &key)
            .await
            .expect("the pool has a new session");
        assert!(!paid.replayed());
        shop.assert_one_effect(&key).await;
    }
}

#[tokio::test]
async fn terminated_while_the_record_is_written_leaves_nothing_and_the_retry_pays() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let mut holder = shop.database.connect().await;
    holder
        .execute("BEGIN; LOCK TABLE idem_record IN SHARE MODE")
        .await
        .expect("nobody uses it");
    let terminate = async {
        let mut observer = shop.observer().await;
        observer.until_blocked(1).await;
        assert_eq!(observer.terminate_blocked().await, 1);
        holder.execute("ROLLBACK").await.expect("it is idle");
    };
    let (paid, ()) = tokio::join!(pay_here(&shop, &key), terminate);
    let refusal = paid.expect_err("its session is gone").refusal();
    assert!(matches!(refusal, Error::Unavailable(_)), "{refusal:?}");
    shop.assert_no_effect(&key).await;
    let paid = pay_here(&shop, &key)
        .await
        .expect("the pool has a new session");
    assert!(!paid.replayed());
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn terminated_in_commit_before_it_is_durable_is_resolved_as_rolled_back() {
    let shop = Shop::open(1).await;
    shop.run(SLOW_COMMIT).await;
    let key = fresh_key();
    let mut holder = shop.database.connect().await;
    holder
        .execute("SELECT pg_advisory_lock(1)")
        .await
        .expect("the lock is free");
    let terminate = async {
        let mut observer = shop.observer().await;
        observer.until_blocked(1).await;
        assert_eq!(observer.terminate_blocked().await, 1);
    };
    let (paid, ()) = tokio::join!(pay_here(&shop, &key), terminate);
    let refusal = paid.expect_err("it was rolled back").refusal();
    assert!(matches!(refusal, Error::Unavailable(_)), "{refusal:?}");
    assert!(refusal.is_retryable());
    shop.assert_no_effect(&key).await;
    holder
        .execute("SELECT pg_advisory_unlock(1)")
        .await
        .expect("the lock is ours");
    let paid = pay_here(&shop, &key).await.expect("the key is fresh");
    assert!(!paid.replayed());
    shop.assert_one_effect(&key).await;
}

/// The server has committed locally when it waits for its standby: an error "failed" would be
/// wrong.
#[tokio::test]
async fn terminated_while_waiting_for_a_synchronous_standby_is_answered_with_the_result() {
    let mut cluster =
        Cluster::start(Options::new().set("synchronous_commit", "on")).expect("a server");
    let shop = Shop::open_on(&cluster, 1).await;
    shop.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        .await;
    cluster.restart().expect("a server");
    let key = fresh_key();
    let terminate = async {
        let mut observer = shop.observer().await;
        observer.until_waiting_for("SyncRep", 1).await;
        assert_eq!(observer.terminate_others().await, 1);
    };
    let (paid, ()) = tokio::join!(pay_here(&shop, &key), terminate);
    let paid = paid.expect("it had committed");
    assert!(!paid.replayed());
    shop.assert_one_effect(&key).await;
    let again = pay_here(&shop, &key).await.expect("it is recorded");
    assert!(again.replayed());
    assert_eq!(*again, *paid);
}

#[idempotent(namespace = "payments", operation = "pay")]
async fn pay_and_idle(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    let paid = charge(tx, key, cmd).await?;
    tx.execute("SET LOCAL idle_in_transaction_session_timeout = 1")
        .await?;
    gate::pass(key.as_str(), GatePoint::Last).await;
    Ok(paid)
}

#[tokio::test]
async fn a_transaction_that_the_server_gave_up_for_idleness_may_be_retried() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::Last);
    let outlast = async {
        gate.entered().await;
        shop.observer().await.until_no_transaction().await;
        gate.open();
    };
    let (paid, ()) = tokio::join!(pay_and_idle(&shop.pool, &key, &CMD), outlast);
    let refusal = paid.expect_err("its session is gone").refusal();
    assert!(refusal.is_retryable(), "{refusal:?}");
    shop.assert_no_effect(&key).await;
    let paid = pay_here(&shop, &key).await.expect("the key is fresh");
    assert!(!paid.replayed());
}

#[tokio::test]
async fn a_panic_in_the_body_leaves_nothing_and_the_pool_usable() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let (pool, same) = (shop.pool.clone(), key.clone());
    let call = tokio::spawn(async move { panic_after_paying(&pool, &same, &CMD).await });
    assert!(call.await.expect_err("it panics").is_panic());
    shop.observer().await.until_no_transaction().await;
    shop.assert_no_effect(&key).await;
    let paid = pay_here(&shop, &key).await.expect("the key is fresh");
    assert!(!paid.replayed());
    shop.assert_one_effect(&key).await;
}

#[idempotent(namespace = "payments", operation = "pay")]
async fn panic_after_paying(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await?;
    panic!("as told");
}
