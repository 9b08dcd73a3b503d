//! A fresh database with a ledger, and a service to send to.

use http::Request;
use idem_client::RetryPolicy;
use idem_client::ledger::{EventId, Ledger, LedgerDatabase, LedgerEntry, LedgerSender, schema};
use idem_messaging::outbox::{Relay, Swept};
use idem_tests::dialect::Dialect;
use idem_tests_clients::Town;
use reqwest_middleware::ClientWithMiddleware;
use sqlx::{Executor as _, Pool, Transaction};

/// A database under the laws.
pub(crate) trait Subject: Sized + Send + Sync {
    type Db: LedgerDatabase + Dialect;

    async fn fresh() -> Self;
    fn pool(&self) -> &Pool<Self::Db>;
    /// Ends the transaction below sqlx's, as a body of raw SQL may.
    async fn commit_below(tx: &mut Transaction<'_, Self::Db>);

    /// Lets every lease and every backoff of the queue end.
    async fn pass_time(&self) {
        let (now, hour) = (Self::Db::NOW, Self::Db::HOUR);
        let due = format!("UPDATE idem_ledger_outbox SET due_at = {now} - {hour} WHERE state = 0");
        Self::Db::run(self.pool(), &due).await;
    }
}

pub(crate) struct Postgres {
    _database: idem_tests::postgres::Database,
    pool: sqlx::PgPool,
}

pub(crate) struct MySql {
    _database: idem_tests::mysql::Database,
    pool: sqlx::MySqlPool,
}

pub(crate) struct Sqlite {
    _database: idem_tests::sqlite::Sqlite,
    pool: sqlx::SqlitePool,
}

async fn create<DB: LedgerDatabase>(pool: &Pool<DB>) {
    let mut conn = pool.acquire().await.expect("a connection");
    for _ in 0..2 {
        let created = schema::create_if_missing(&mut *conn).await;
        created.expect("the tables");
    }
}

impl Subject for Postgres {
    type Db = sqlx::Postgres;

    async fn commit_below(tx: &mut Transaction<'_, sqlx::Postgres>) {
        tx.execute("COMMIT").await.expect("committed");
    }

    async fn fresh() -> Self {
        let database = idem_tests::postgres::Database::fresh().await;
        let pool = database.pool(8);
        create(&pool).await;
        Self {
            _database: database,
            pool,
        }
    }

    fn pool(&self) -> &sqlx::PgPool {
        &self.pool
    }

    async fn pass_time(&self) {
        let due = "UPDATE idem_ledger_outbox SET due_at = clock_timestamp() - interval '1 hour', \
                   lease_ends_at = CASE WHEN claim_token IS NOT NULL THEN clock_timestamp() - interval '1 hour' END \
                   WHERE state = 0";
        Self::Db::run(&self.pool, due).await;
    }
}

impl Subject for MySql {
    type Db = sqlx::MySql;

    async fn commit_below(tx: &mut Transaction<'_, sqlx::MySql>) {
        tx.execute("COMMIT").await.expect("committed");
    }

    async fn fresh() -> Self {
        let database = idem_tests::mysql::Database::fresh().await;
        let pool = database.pool(8);
        create(&pool).await;
        Self {
            _database: database,
            pool,
        }
    }

    fn pool(&self) -> &sqlx::MySqlPool {
        &self.pool
    }
}

impl Subject for Sqlite {
    type Db = sqlx::Sqlite;

    async fn commit_below(tx: &mut Transaction<'_, sqlx::Sqlite>) {
        tx.execute("COMMIT").await.expect("committed");
    }

    async fn fresh() -> Self {
        let database = idem_tests::sqlite::Sqlite::fresh(idem_tests::sqlite::Journal::Wal);
        let pool = database.pool(8);
        create(&pool).await;
        Self {
            _database: database,
            pool,
        }
    }

    fn pool(&self) -> &sqlx::SqlitePool {
        &self.pool
    }
}

/// A ledger, its database, and the service.
pub(crate) struct Office<S: Subject> {
    pub(crate) subject: S,
    pub(crate) town: Town,
    pub(crate) ledger: Ledger,
}

impl<S: Subject> Office<S> {
    pub(crate) async fn open() -> Self {
        Self {
            subject: S::fresh().await,
            town: Town::open().await,
            ledger: Ledger::new(),
        }
    }

    pub(crate) fn pool(&self) -> &Pool<S::Db> {
        self.subject.pool()
    }

    /// An order of this item through a plan of faults.
    pub(crate) fn order(&self, item: &str, plan: &str) -> Request<String> {
        Request::post(format!("{}/f/{item}/{plan}/orders", self.town.url))
            .header("content-type", "application/json")
            .body(serde_json::json!({ "item": item }).to_string())
            .expect("a request")
    }

    /// Enqueues a request in a transaction of its own.
    pub(crate) async fn enqueue(&self, request: Request<String>) -> EventId {
        let mut tx = self.pool().begin().await.expect("a transaction");
        let enqueued = self.ledger.enqueue(&mut tx, request).await;
        let id = enqueued.expect("enqueued");
        tx.commit().await.expect("committed");
        id
    }

    /// A worker whose times no law waits for.
    pub(crate) fn worker(&self) -> Relay<S::Db, LedgerSender<S::Db>> {
        self.worker_with(client())
    }

    pub(crate) fn worker_with(
        &self,
        client: ClientWithMiddleware,
    ) -> Relay<S::Db, LedgerSender<S::Db>> {
        let minutes = std::time::Duration::from_mins;
        let worker = self.ledger.worker(self.pool().clone(), client);
        worker.publish_timeout(minutes(10)).lease(minutes(60))
    }

    pub(crate) async fn sweep(&self) -> Swept {
        self.worker().sweep().await.expect("swept")
    }

    /// Lets a worker try until everything has left, or so often.
    pub(crate) async fn sweep_over(&self, times: usize) {
        for _ in 0..times {
            self.sweep().await;
            self.subject.pass_time().await;
        }
    }

    pub(crate) async fn entry(&self, id: &EventId) -> LedgerEntry {
        let entry = self.ledger.entry(self.pool(), id).await;
        entry.expect("an answer").expect("a request")
    }

    /// Returns how many events the queue has.
    pub(crate) async fn queued(&self) -> i64 {
        S::Db::number(self.pool(), "SELECT count(*) FROM idem_ledger_outbox").await
    }

    /// Returns the keys that the proxy has received under this name, each once.
    pub(crate) fn keys(&self, item: &str) -> Vec<Option<String>> {
        let requests = self.town.requests(item).into_iter();
        let mut keys: Vec<_> = requests.map(|request| request.key).collect();
        keys.sort();
        keys.dedup();
        keys
    }
}

pub(crate) fn client() -> ClientWithMiddleware {
    // As the page builds it: with a middleware that would make attempts of its own.
    idem_client::client(reqwest::Client::builder(), RetryPolicy::new()).expect("a client")
}
