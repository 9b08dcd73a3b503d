//! A client process that is killed leaves its key unused or completed.

use idem_tests::gate::{Gate, GatePoint};
use idem_tests::postgres::payments::{Pay, pay};
use idem_tests::postgres::{Shop, fresh_key};

use crate::competitors::{line, payer};
use crate::terminated::SLOW_COMMIT;

const CMD: Pay = Pay { amount: 1 };

#[tokio::test]
async fn a_process_killed_in_its_body_leaves_nothing_and_the_retry_pays() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let (mut child, mut lines) = payer(&["stall", &shop.database.url(), key.as_str()]);
    assert_eq!(line(&mut lines).await.as_deref(), Some("paid"));
    child.kill().await.expect("it runs");
    shop.observer().await.until_no_transaction().await;
    shop.assert_no_effect(&key).await;
    let paid = pay(&shop.pool, &key, &CMD).await.expect("the key is fresh");
    assert!(!paid.replayed());
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_process_killed_while_its_commit_runs_has_paid_and_the_retry_replays() {
    let shop = Shop::open(1).await;
    shop.run(SLOW_COMMIT).await;
    let mut holder = shop.database.connect().await;
    sqlx::raw_sql("SELECT pg_advisory_lock(1)")
        .execute(&mut holder)
        .await
        .expect("the lock is free");
    let key = fresh_key();
    let (mut child, _lines) = payer(&["once", &shop.database.url(), key.as_str()]);
    let mut observer = shop.observer().await;
    observer.until_blocked(1).await;
    child.kill().await.expect("it runs");
    sqlx::raw_sql("SELECT pg_advisory_unlock(1)")
        .execute(&mut holder)
        .await
        .expect("the lock is ours");
    observer.until_no_transaction().await;
    shop.assert_one_effect(&key).await;
    let paid = pay(&shop.pool, &key, &CMD).await.expect("it is recorded");
    assert!(paid.replayed());
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_process_killed_while_it_waits_for_a_competitor_is_not_missed() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let winner = async {
        let paid = pay(&shop.pool, &key, &CMD).await;
        paid.expect("it has claimed the key")
    };
    let kill = async {
        gate.entered().await;
        let (mut child, _lines) = payer(&["once", &shop.database.url(), key.as_str()]);
        // The sessions of the winner and of the waiter.
        let two = "(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                   AND backend_type = 'client backend' AND pid <> pg_backend_pid()) >= 2";
        shop.observer().await.until(two).await;
        child.kill().await.expect("it waits");
        gate.open();
    };
    let (paid, ()) = tokio::join!(winner, kill);
    assert!(!paid.replayed());
    shop.assert_one_effect(&key).await;
}
