//! A link that fails at COMMIT: the outcome is found out, or reported as unknown.

use idem_runtime::{Error, IdempotencyKey, Operation, Replayable};
use idem_tests::mysql::payments::{Paid, Pay, PayError, fail_to_pay, insert, pay, pay_patiently};
use idem_tests::mysql::{Shop, fresh_key};
use idem_tests::proxy::{Fate, Proxy};
use idem_tests::silence::QuietLink;
use sqlx::mysql::MySqlConnectOptions;
use sqlx::{Connection as _, MySqlConnection, MySqlPool};

const CMD: Pay = Pay { amount: 1 };
const PAYMENT: Operation = Operation::new("payments", "pay");

struct Link {
    shop: Shop,
    proxy: Proxy<MySqlConnectOptions>,
    pool: MySqlPool,
    key: IdempotencyKey,
}

impl Link {
    async fn up() -> Self {
        let shop = Shop::open(1).await;
        let proxy = Proxy::to(shop.database.options()).await;
        let pool = shop.pool_by(1, proxy.options());
        let key = fresh_key();
        Self {
            shop,
            proxy,
            pool,
            key,
        }
    }

    async fn pay_through(&self) -> Result<Replayable<Paid>, PayError> {
        pay(&self.pool, &self.key, &CMD).await
    }

    /// Retries without the link, until the server has finished the statements that it received.
    async fn retry(&self) -> Replayable<Paid> {
        self.shop.observer().await.until_no_transaction().await;
        let paid = pay(&self.shop.pool, &self.key, &CMD).await;
        let paid = paid.expect("a retry is safe");
        self.shop.assert_one_effect(&self.key).await;
        paid
    }
}

#[tokio::test]
async fn a_commit_that_never_reached_the_server_is_retryable_and_has_done_nothing() {
    let link = Link::up().await;
    link.proxy.next_commit(Fate::CutBefore);
    let refusal = link.pay_through().await.expect_err("rolled back").refusal();
    assert!(matches!(refusal, Error::Unavailable(_)), "{refusal:?}");
    assert!(refusal.is_retryable());
    link.shop.assert_no_effect(&link.key).await;
    assert!(!link.retry().await.replayed());
}

#[tokio::test]
async fn a_commit_whose_answer_was_cut_off_gives_the_result_of_the_first_run() {
    let link = Link::up().await;
    link.proxy.next_commit(Fate::CutAnswer);
    let paid = link.pay_through().await.expect("it was executed");
    assert!(!paid.replayed());
    let again = link.retry().await;
    assert!(again.replayed());
    assert_eq!(*again, *paid);
}

#[tokio::test]
async fn a_recorded_failure_whose_answer_was_cut_off_is_the_failure() {
    let link = Link::up().await;
    link.proxy.next_commit(Fate::CutAnswer);
    let failed = fail_to_pay(&link.pool, &link.key, &CMD, Some(51)).await;
    assert!(
        matches!(failed, Err(PayError::Declined { code: 51 })),
        "{failed:?}"
    );
    assert_eq!(link.shop.payments(&link.key).await, 0);
    assert_eq!(link.shop.records(&link.key).await, 1);
}

#[tokio::test]
async fn a_commit_whose_answer_was_swallowed_and_the_server_gone_is_unknown_and_safe_to_retry() {
    let link = Link::up().await;
    link.proxy.next_commit(Fate::Swallow);
    let cut = async {
        link.proxy.reached().await;
        link.proxy.cut();
    };
    let (paid, ()) = tokio::join!(link.pay_through(), cut);
    let refusal = paid.expect_err("nobody can be asked").refusal();
    assert!(matches!(refusal, Error::CommitUnknown(_)), "{refusal:?}");
    assert!(refusal.is_retryable());
    assert!(link.retry().await.replayed());
}

#[tokio::test]
async fn on_a_borrowed_connection_a_lost_answer_is_unknown_and_safe_to_retry() {
    for fate in [Fate::CutBefore, Fate::CutAnswer] {
        let link = Link::up().await;
        link.proxy.next_commit(fate);
        let mut connection = MySqlConnection::connect_with(&link.proxy.options())
            .await
            .expect("a link");
        let paid = pay(&mut connection, &link.key, &CMD).await;
        let refusal = paid
            .expect_err("there is no other connection to ask by")
            .refusal();
        assert!(matches!(refusal, Error::CommitUnknown(_)), "{refusal:?}");
        assert_eq!(link.retry().await.replayed(), fate == Fate::CutAnswer);
    }
}

/// The link falls silent, or the server is stopped, between the body and its record.
#[tokio::test]
async fn a_link_that_falls_silent_behind_a_body_is_no_fault_of_the_body() {
    let shop = Shop::open(1).await;
    let options = shop.database.options().clone();
    let quiet = QuietLink::to("127.0.0.1".to_owned(), options.get_port()).await;
    let options = options.host("127.0.0.1").port(quiet.port());
    let pool = shop.pool_by(1, options);
    let key = fresh_key();
    let refusal = PAYMENT
        .run(&pool, &key, &CMD, async |tx| {
            let id = insert(tx, key.as_str(), CMD.amount).await?;
            quiet.silence();
            Ok::<_, PayError>(Paid { id })
        })
        .await
        .expect_err("nothing is recorded")
        .refusal();
    assert!(matches!(refusal, Error::Unavailable(_)), "{refusal:?}");
    assert!(refusal.is_retryable());
    drop(quiet);
    // Until the server has noticed the end of the session, that holds the claim.
    let paid = pay_patiently(&shop.pool, &key, &CMD).await;
    assert!(!paid.expect("the key is fresh").replayed());
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_server_that_is_not_there_fails_closed() {
    let link = Link::up().await;
    link.proxy.cut();
    let mut connection = MySqlConnection::connect_with(&link.proxy.options()).await;
    assert!(connection.is_err(), "{connection:?}");
    let pool = sqlx::mysql::MySqlPoolOptions::new()
        .acquire_timeout(std::time::Duration::from_millis(50))
        .connect_lazy_with(link.proxy.options());
    let refusal = pay(&pool, &link.key, &CMD)
        .await
        .expect_err("nobody is there")
        .refusal();
    assert!(matches!(refusal, Error::Unavailable(_)), "{refusal:?}");
    link.shop.assert_no_effect(&link.key).await;
    connection = MySqlConnection::connect_with(link.shop.database.options()).await;
    assert!(connection.is_ok());
}

/// A closed pool returns an error at once, and always the same one.
#[tokio::test]
async fn a_lost_answer_on_a_pool_that_is_closed_meanwhile_is_unknown_and_does_not_hang() {
    let link = Link::up().await;
    link.proxy.next_commit(Fate::Swallow);
    let shut_down = async {
        link.proxy.reached().await;
        let close = link.pool.close();
        // The pool is closed from here on; the returned future only waits for the connection.
        drop(close);
        assert!(link.pool.is_closed());
        link.proxy.cut();
    };
    let call = async { tokio::join!(link.pay_through(), shut_down).0 };
    let paid = tokio::time::timeout(std::time::Duration::from_secs(30), call).await;
    let refusal = paid.expect("it ends").expect_err("nobody can be asked");
    let refusal = refusal.refusal();
    assert!(matches!(refusal, Error::CommitUnknown(_)), "{refusal:?}");
    assert!(link.retry().await.replayed());
}
