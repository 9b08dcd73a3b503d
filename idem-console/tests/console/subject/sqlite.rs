//! SQLite under the laws.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use idem_messaging::outbox;
use idem_runtime::{operate, schema};
use idem_tests::sqlite::{self, Journal};
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{Pool, SqlitePool};

use super::Subject;

pub(crate) struct Sqlite {
    file: sqlite::Sqlite,
    pool: SqlitePool,
    steps: Arc<AtomicU64>,
}

/// After so many steps of its machine, SQLite calls back.
const STEPS: u64 = 1_000;

impl Subject for Sqlite {
    type Db = sqlx::Sqlite;

    // Steps: some twenty a row.
    const BOUND: u64 = 2_500_000;

    async fn fresh() -> Self {
        let file = sqlite::Sqlite::fresh(Journal::Wal);
        let pool = file.pool(4);
        let steps = Arc::new(AtomicU64::new(0));
        let subject = Self { file, pool, steps };
        for migration in [
            schema::sqlite(),
            operate::schema::sqlite(),
            outbox::schema::sqlite(),
        ] {
            subject.run(migration).await;
        }
        subject
    }

    fn pool(&self) -> &Pool<sqlx::Sqlite> {
        &self.pool
    }

    fn dead_pool() -> SqlitePool {
        SqlitePoolOptions::new()
            .connect_lazy("sqlite:///nowhere/at/all.db")
            .expect("a URL")
    }

    async fn fill(&self, hours: u32, rows: u32) {
        let (now, hour) = (Self::NOW, Self::HOUR);
        self.run(&format!(
            "WITH RECURSIVE h(h) AS (SELECT 1 UNION ALL SELECT h + 1 FROM h WHERE h < {hours}), \
             n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < {rows} - 1) \
             INSERT INTO idem_record (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, codec, \
             namespace, scope, key, operation, result, failure) \
             SELECT {now} / {hour} * {hour} - h * {hour} + n * ({hour} / {rows}), \
             {now} / {hour} * {hour} - h * {hour} + n * ({hour} / {rows}) + 24 * {hour}, randomblob(16), 1, \
             iif(n % 10 = 0, 2, 1), 1, 1, 'payments', 'tenant-' || (n % 500), 'k-' || h || '-' || n, 'charge', \
             iif(n % 10 > 0, x'7b7d', NULL), iif(n % 10 = 0, x'7b7d', NULL) FROM h, n; ANALYZE"
        ))
        .await;
    }

    async fn counting(&self) -> SqlitePool {
        let pool = self.file.pool(1);
        let mut conn = pool.acquire().await.expect("a connection");
        let steps = Arc::clone(&self.steps);
        let mut handle = conn.lock_handle().await.expect("a handle");
        handle.set_progress_handler(i32::try_from(STEPS).expect("few"), move || {
            steps.fetch_add(STEPS, Ordering::Relaxed);
            true
        });
        drop(handle);
        drop(conn);
        pool
    }

    async fn read_so_far(&self, _: &SqlitePool) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }
}

impl Sqlite {
    /// Returns the id of a dead event.
    pub(crate) async fn dead_event(&self) -> String {
        let id = sqlx::query_scalar("SELECT id FROM idem_outbox WHERE state = 2 LIMIT 1")
            .fetch_one(&self.pool)
            .await;
        id.expect("a dead event")
    }
}
