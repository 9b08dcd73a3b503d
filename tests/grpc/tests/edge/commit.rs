//! A database that is lost, before COMMIT and at it.

use std::time::Duration;

use idem_tests::postgres::{Shop, fresh_key};
use idem_tests::proxy::{Fate, Proxy};
use sqlx::postgres::PgPoolOptions;
use tonic::Code;

use crate::bank::Bank;
use crate::client::{is_replay, refused};

#[tokio::test]
async fn an_unknown_commit_is_retried_and_the_retry_has_no_second_effect() {
    let shop = Shop::open(2).await;
    let proxy = Proxy::to(shop.database.options()).await;
    let bank = Bank::open(shop.pool_by(1, proxy.options())).await;
    let key = fresh_key();
    proxy.next_commit(Fate::Swallow);
    let cut = async {
        proxy.reached().await;
        proxy.cut();
    };
    let (paid, ()) = tokio::join!(bank.pay(&key), cut);
    let refusal = refused(&paid.expect_err("nobody can be asked"));
    assert_eq!(refusal.code, Code::Unavailable);
    assert_eq!(refusal.reason, "TRY_AGAIN");
    assert!(refusal.retry_after.is_some());
    // Another node, whose link is whole.
    let mut observer = shop.observer().await;
    observer.until_nothing_is_written().await;
    let other = Bank::open(shop.pool.clone()).await;
    let paid = other.pay(&key).await.expect("a retry is safe");
    assert!(is_replay(paid.metadata()));
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_commit_that_never_arrived_is_retried_and_runs_once() {
    let shop = Shop::open(2).await;
    let proxy = Proxy::to(shop.database.options()).await;
    let bank = Bank::open(shop.pool_by(2, proxy.options())).await;
    let key = fresh_key();
    proxy.next_commit(Fate::CutBefore);
    let refusal = refused(&bank.pay(&key).await.expect_err("rolled back"));
    assert_eq!(refusal.code, Code::Unavailable);
    shop.assert_no_effect(&key).await;
    let paid = bank.pay(&key).await.expect("a retry is safe");
    assert!(!is_replay(paid.metadata()));
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_database_that_is_not_there_is_unavailable_and_nothing_is_done() {
    let shop = Shop::open(1).await;
    let proxy = Proxy::to(shop.database.options()).await;
    let pool = PgPoolOptions::new()
        .acquire_timeout(Duration::from_millis(50))
        .connect_lazy_with(proxy.options());
    proxy.cut();
    let (bank, key) = (Bank::open(pool).await, fresh_key());
    let refusal = refused(&bank.pay(&key).await.expect_err("nobody is there"));
    assert_eq!(
        (refusal.code, refusal.reason.as_str()),
        (Code::Unavailable, "UNAVAILABLE")
    );
    assert!(refusal.retry_after.is_some());
    shop.assert_no_effect(&key).await;
}
