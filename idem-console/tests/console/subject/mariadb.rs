//! MariaDB under the laws.

use idem_messaging::outbox;
use idem_runtime::{operate, schema};
use idem_tests::mysql::Database;
use sqlx::mysql::MySqlPoolOptions;
use sqlx::{MySqlPool, Pool};

use super::Subject;

pub(crate) struct MariaDb {
    database: Database,
    pool: MySqlPool,
}

impl Subject for MariaDb {
    type Db = sqlx::MySql;

    // Rows that the session has read, those of temporary tables among them.
    const BOUND: u64 = 200_000;

    async fn fresh() -> Self {
        let database = Database::fresh().await;
        let pool = database.pool(4);
        let subject = Self { database, pool };
        for migration in [
            schema::mysql(),
            operate::schema::mysql(),
            outbox::schema::mysql(),
        ] {
            subject.run(migration).await;
        }
        subject
    }

    fn pool(&self) -> &Pool<sqlx::MySql> {
        &self.pool
    }

    fn dead_pool() -> MySqlPool {
        MySqlPoolOptions::new()
            .connect_lazy("mysql://nobody@127.0.0.1:1/nothing")
            .expect("a URL")
    }

    async fn fill(&self, hours: u32, rows: u32) {
        let (now, hour) = (Self::NOW, Self::HOUR);
        self.run(&format!(
            "SET @begin = ({now}) DIV {hour} * {hour}; \
             INSERT INTO idem_record (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, codec, \
             namespace, scope, `key`, operation, result, failure) \
             SELECT @begin - h.seq * {hour} + n.seq * ({hour} DIV {rows}), \
             @begin - h.seq * {hour} + n.seq * ({hour} DIV {rows}) + 24 * {hour}, unhex(md5(rand())), 1, \
             IF(n.seq % 10 = 0, 2, 1), 1, 1, 'payments', concat('tenant-', n.seq % 500), \
             concat('k-', h.seq, '-', n.seq), 'charge', IF(n.seq % 10 > 0, '{{}}', NULL), IF(n.seq % 10 = 0, '{{}}', NULL) \
             FROM seq_1_to_{hours} h, seq_0_to_{last} n; ANALYZE TABLE idem_record",
            last = rows - 1
        ))
        .await;
    }

    async fn counting(&self) -> MySqlPool {
        self.database.pool(1)
    }

    async fn read_so_far(&self, counting: &MySqlPool) -> u64 {
        let sql = "SELECT CAST(sum(variable_value) AS SIGNED) FROM information_schema.session_status \
                   WHERE variable_name LIKE 'HANDLER_READ%'";
        let read: i64 = sqlx::query_scalar(sql)
            .fetch_one(counting)
            .await
            .expect("statistics");
        read.unsigned_abs()
    }
}
