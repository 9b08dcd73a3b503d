//! PostgreSQL under the laws.

use idem_messaging::outbox;
use idem_runtime::{operate, schema};
use idem_tests::postgres::Database;
use sqlx::postgres::PgPoolOptions;
use sqlx::{Executor as _, PgPool, Pool};

use super::Subject;

pub(crate) struct Postgres {
    database: Database,
    pool: PgPool,
}

impl Subject for Postgres {
    type Db = sqlx::Postgres;

    // Rows that a scan of an index has fetched or answered; any scan of the whole table counts as too many.
    const BOUND: u64 = 120_000;

    async fn fresh() -> Self {
        let database = Database::fresh().await;
        let pool = database.pool(4);
        let subject = Self { database, pool };
        for migration in [
            schema::postgres(),
            operate::schema::postgres(),
            outbox::schema::postgres(),
        ] {
            subject.run(migration).await;
        }
        subject
    }

    fn pool(&self) -> &Pool<sqlx::Postgres> {
        &self.pool
    }

    fn dead_pool() -> PgPool {
        PgPoolOptions::new()
            .connect_lazy("postgres://nobody@127.0.0.1:1/nothing")
            .expect("a URL")
    }

    async fn fill(&self, hours: u32, rows: u32) {
        self.run(&format!(
            "INSERT INTO idem_record (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, codec, \
             namespace, scope, key, operation, fingerprint, result, failure) \
             SELECT w, w + interval '1 day', gen_random_uuid(), 1, CASE WHEN n % 10 = 0 THEN 2 ELSE 1 END, 1, 1, \
             'payments', 'tenant-' || n % 500, 'k-' || h || '-' || n, 'charge', NULL, \
             CASE WHEN n % 10 > 0 THEN convert_to('{{}}', 'UTF8') END, CASE WHEN n % 10 = 0 THEN convert_to('{{}}', 'UTF8') END \
             FROM generate_series(1, {hours}) h, generate_series(0, {rows} - 1) n, \
             LATERAL (SELECT date_trunc('hour', clock_timestamp(), 'UTC') - h * interval '1 hour' \
             + n * interval '1 hour' / {rows} AS w) t"
        ))
        .await;
        self.run("VACUUM ANALYZE idem_record").await;
    }

    async fn counting(&self) -> PgPool {
        self.database.pool(1)
    }

    async fn read_so_far(&self, counting: &PgPool) -> u64 {
        let sql = "SELECT pg_stat_force_next_flush()";
        counting.execute(sql).await.expect("flushed");
        let sql = "SELECT (sum(seq_scan) FILTER (WHERE relname = 'idem_record') * 1000000 + sum(idx_tup_fetch))::bigint \
                   FROM pg_stat_user_tables";
        let read: i64 = sqlx::query_scalar(sql)
            .fetch_one(counting)
            .await
            .expect("statistics");
        read.unsigned_abs()
    }
}
