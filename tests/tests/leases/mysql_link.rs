//! A link to MariaDB that fails at the message that claims a lease, or at the one that ends it: each commits itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idem_runtime::policy::OnLapse;
use idem_runtime::record::Status;
use idem_runtime::{Error, IdempotencyKey, LeasedOperation, Operation, Replayable};
use idem_tests::proxy::{Fate, Proxy};
use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions};

use crate::database::{LeaseDatabase, MySql};
use crate::desk::fresh_key;

const NOTE: LeasedOperation =
    Operation::new("mail", "note").lease(Duration::from_mins(5), OnLapse::Unknown);
const FATES: [Fate; 3] = [Fate::CutBefore, Fate::CutAnswer, Fate::CutClient];
/// A part of the message that claims, and of no other.
const CLAIM: &str = "INSERT INTO idem_record";
const END: &str = "UPDATE idem_record SET";

struct Link {
    database: MySql,
    proxy: Proxy<MySqlConnectOptions>,
    pool: MySqlPool,
    runs: Arc<AtomicU32>,
}

impl Link {
    /// Opens a link to a table that is known to be fit.
    async fn up() -> Self {
        let database = MySql::open().await;
        let proxy = Proxy::to(database.database.options()).await;
        let pool = MySqlPoolOptions::new()
            .max_connections(1)
            .connect_lazy_with(proxy.options());
        let link = Self {
            database,
            proxy,
            pool,
            runs: Arc::default(),
        };
        for _ in 0..2 {
            link.note(&fresh_key()).await.expect("fresh");
        }
        link.runs.store(0, Ordering::SeqCst);
        link
    }

    async fn note(&self, key: &IdempotencyKey) -> Result<Replayable<u32>, Error> {
        let runs = Arc::clone(&self.runs);
        let body = async move |_| Ok::<_, Error>(runs.fetch_add(1, Ordering::SeqCst) + 1);
        NOTE.run(&self.pool, key, &1, body).await
    }

    async fn assert_ran_once(&self, key: &IdempotencyKey, fate: Fate) {
        assert_eq!(self.runs.load(Ordering::SeqCst), 1, "{fate:?}");
        let record = self.database.record(key).await.expect("there is one");
        assert_eq!((record.status, record.attempt), (Status::Completed, 1));
        let again = self.note(key).await.expect("recorded");
        assert!(again.replayed(), "{fate:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_by_one_message_whose_answer_was_lost_is_found_out_and_the_body_runs_once() {
    for fate in FATES {
        let (link, key) = (Link::up().await, fresh_key());
        link.proxy.next_holding(CLAIM, fate);
        let noted = link.note(&key).await;
        let noted = noted.unwrap_or_else(|error| panic!("{fate:?}: {error}"));
        assert!(!noted.replayed(), "{fate:?}");
        link.proxy.reached().await;
        link.assert_ran_once(&key, fate).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_by_one_message_whose_answer_was_lost_is_found_out() {
    for fate in FATES {
        let (link, key) = (Link::up().await, fresh_key());
        link.proxy.next_holding(END, fate);
        let noted = link.note(&key).await;
        let noted = noted.unwrap_or_else(|error| panic!("{fate:?}: {error}"));
        assert!(!noted.replayed(), "{fate:?}");
        link.proxy.reached().await;
        link.assert_ran_once(&key, fate).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_claimed_in_a_table_that_was_altered_since_is_withdrawn_and_no_body_runs() {
    let (link, key) = (Link::up().await, fresh_key());
    let database = &link.database;
    database
        .run("ALTER TABLE idem_record DROP PRIMARY KEY, ADD KEY (namespace, scope, `key`)")
        .await;
    for _ in 0..2 {
        let refusal = link.note(&key).await.expect_err("it is unfit");
        assert!(matches!(refusal, Error::Schema(_)), "{refusal:?}");
        assert_eq!(database.status(&key).await, None);
    }
    database
        .run("ALTER TABLE idem_record ADD PRIMARY KEY (namespace, scope, `key`)")
        .await;
    assert_eq!(link.runs.load(Ordering::SeqCst), 0);
    link.note(&key).await.expect("fit again");
    link.assert_ran_once(&key, Fate::Pass).await;
}

/// A session that holds writes back is claimed by the plain path.
#[tokio::test(flavor = "multi_thread")]
async fn under_autocommit_off_a_lease_is_durable_before_its_body_runs() {
    let link = Link::up().await;
    let pool = MySqlPoolOptions::new()
        .max_connections(1)
        .after_connect(|connection, _| {
            Box::pin(async move {
                sqlx::Executor::execute(connection, "SET autocommit = 0").await?;
                Ok(())
            })
        })
        .connect_lazy_with(link.proxy.options());
    let key = fresh_key();
    let found = Arc::new(std::sync::Mutex::new(None));
    let (observed, of, there) = (
        Arc::clone(&found),
        key.clone(),
        Arc::new(link.database.database.connect().await.into()),
    );
    let there: Arc<tokio::sync::Mutex<sqlx::MySqlConnection>> = there;
    let body = async move |_| {
        let status: Option<i16> =
            sqlx::query_scalar("SELECT status FROM idem_record WHERE `key` = ?")
                .bind(of.as_str())
                .fetch_optional(&mut *there.lock().await)
                .await
                .expect("the server answers");
        *observed.lock().expect("not poisoned") = status;
        Ok::<_, Error>(1)
    };
    let noted = NOTE.run(&pool, &key, &1, body).await.expect("fresh");
    assert!(!noted.replayed());
    assert_eq!(*found.lock().expect("not poisoned"), Some(3));
    assert_eq!(link.database.status(&key).await, Some(Status::Completed));
}
