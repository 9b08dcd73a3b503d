//! A link that fails: at the claim, while the body runs, or at the end.

use std::time::Duration;

use idem_runtime::policy::{Lease, OnLapse};
use idem_runtime::record::Status;
use idem_runtime::store::Outcome;
use idem_runtime::{Error, LeasedOperation, Operation};
use idem_tests::proxy::{Fate, Proxy};
use serde_json::json;
use sqlx::PgPool;
use sqlx::postgres::{PgPoolOptions, PgTransactionManager};
use sqlx_core::transaction::TransactionManager as _;

use crate::database::{LeaseDatabase, Postgres, mails};
use crate::desk::{Desk, Then, ada, fresh_key, send_again, send_once};

struct Link {
    database: Postgres,
    proxy: Proxy,
    pool: PgPool,
}

impl Link {
    async fn up() -> Self {
        let database = Postgres::open().await;
        let proxy = Proxy::to(database.database.options()).await;
        let pool = PgPoolOptions::new()
            .max_connections(2)
            .acquire_timeout(Duration::from_secs(1))
            .connect_lazy_with(proxy.options());
        let link = Self {
            database,
            proxy,
            pool,
        };
        link.verify().await;
        link
    }

    /// Makes each connection of the pool verify the table, so that its next claim is one message.
    async fn verify(&self) {
        let lease = Lease::new(Duration::from_mins(5), OnLapse::Unknown).expect("within bounds");
        let mut all = Vec::new();
        for _ in 0..self.pool.options().get_max_connections() {
            all.push(self.pool.acquire().await.expect("a connection"));
        }
        for conn in &mut all {
            let mails = mails();
            let mut bound = mails.in_connection(&mut **conn);
            let held = bound
                .begin_leased(&fresh_key(), "verify", &json!(1), lease)
                .await;
            assert!(matches!(held, Ok(Outcome::Fresh(_))), "{held:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_answer_was_lost_is_found_out_and_the_body_runs_once() {
    for fate in [Fate::CutBefore, Fate::CutAnswer, Fate::CutClient] {
        let (link, key, desk) = (Link::up().await, fresh_key(), Desk::new(&[]));
        link.proxy.next_commit(fate);
        let sent = send_once(&link.pool, key.clone(), ada(), desk.clone()).await;
        let sent = sent.unwrap_or_else(|error| panic!("{fate:?}: {error}"));
        assert_eq!((sent.number, sent.replayed()), (1, false), "{fate:?}");
        assert_eq!(desk.count(), 1, "{fate:?}");
        let record = link.database.record(&key).await.expect("there is one");
        assert_eq!((record.status, record.attempt), (Status::Completed, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_cannot_be_found_out_runs_no_body_and_its_lease_lapses() {
    let (link, key, desk) = (Link::up().await, fresh_key(), Desk::new(&[]));
    link.proxy.next_commit(Fate::Swallow);
    let cut = async {
        link.proxy.reached().await;
        link.proxy.cut();
    };
    let call = send_once(&link.pool, key.clone(), ada(), desk.clone());
    let (sent, ()) = tokio::join!(call, cut);
    let refusal = sent.expect_err("nobody can be asked").refusal();
    assert!(matches!(refusal, Error::CommitUnknown(_)), "{refusal:?}");
    assert_eq!(desk.count(), 0);
    assert_eq!(link.database.status(&key).await, Some(Status::InProgress));
    link.database.lapse().await;
    let reported = send_once(&link.database.pool(), key, ada(), desk.clone()).await;
    let refusal = reported.expect_err("nobody knows").refusal();
    assert!(
        matches!(refusal, Error::OutcomeUnknown { .. }),
        "{refusal:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_whose_answer_was_lost_is_found_out() {
    for fate in [Fate::CutBefore, Fate::CutAnswer, Fate::CutClient] {
        let (link, key) = (Link::up().await, fresh_key());
        let desk = Desk::new(&[Then::Wait]);
        let (pool, there, by) = (link.pool.clone(), desk.clone(), key.clone());
        let run = tokio::spawn(async move { send_again(&pool, &by, ada(), there).await });
        desk.reached().await;
        link.proxy.next_commit(fate);
        desk.open();
        let sent = run.await.expect("no panic");
        let sent = sent.unwrap_or_else(|error| panic!("{fate:?}: {error}"));
        assert!(!sent.replayed(), "{fate:?}");
        let again = send_again(&link.database.pool(), &key, ada(), desk.clone()).await;
        assert!(again.expect("replayed").replayed(), "{fate:?}");
        assert_eq!(desk.count(), 1, "{fate:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_is_told_when_the_database_is_out_of_reach_for_its_lease_and_its_end_fails_closed() {
    const BRIEF: LeasedOperation =
        Operation::new("mail", "brief").lease(Duration::from_secs(1), OnLapse::Unknown);
    let (link, key, desk) = (Link::up().await, fresh_key(), Desk::new(&[Then::Wait]));
    let (pool, there, by) = (link.pool.clone(), desk.clone(), key.clone());
    let run = tokio::spawn(async move {
        BRIEF
            .run(&pool, &by, &1, move |attempt| async move {
                there.deliver(&attempt).await
            })
            .await
    });
    let attempt = desk.reached().await;
    link.proxy.cut();
    attempt.lost().await;
    assert!(attempt.is_lost() && attempt.lease_left().is_zero());
    desk.open();
    let refusal = run.await.expect("no panic").expect_err("out of reach");
    let refusal = refusal.refusal();
    // The body has run: a caller who was told otherwise might use a new key.
    assert!(matches!(refusal, Error::CommitUnknown(_)), "{refusal:?}");
    assert_eq!(link.database.status(&key).await, Some(Status::InProgress));
}

/// Leaves a transaction open on the pool's only connection, as code that uses the driver's
/// transaction manager may.
async fn forget_a_transaction(pool: &PgPool) {
    let mut conn = pool.acquire().await.expect("a connection");
    PgTransactionManager::begin(&mut conn, None)
        .await
        .expect("it begins");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_forgotten_on_a_pooled_connection_takes_no_lease_along() {
    let database = Postgres::open().await;
    let pool = database.database.pool(1);
    let (key, desk) = (fresh_key(), Desk::new(&[Then::Wait]));
    forget_a_transaction(&pool).await;
    let (through, there, by) = (pool.clone(), desk.clone(), key.clone());
    let run = tokio::spawn(async move { send_again(&through, &by, ada(), there).await });
    desk.reached().await;
    assert_eq!(database.status(&key).await, Some(Status::InProgress));
    forget_a_transaction(&pool).await;
    desk.open();
    assert!(run.await.expect("no panic").is_ok());
    assert_eq!(database.status(&key).await, Some(Status::Completed));
}
