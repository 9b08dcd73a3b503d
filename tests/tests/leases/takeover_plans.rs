//! What a worker's search costs among 100,000 records: one statement, by the index on the ends of leases.

use idem_runtime::takeover::{Takeover, TakeoverSweep};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use crate::database::{LeaseDatabase as _, MySql};
use crate::desk::Desk;
use crate::plans::{Explained, SITUATIONS, Situation, run};
use crate::takeover::{SEND, worker_through};

/// 90,000 results, and 10,000 leases that are live.
const RECORDS: &str = "INSERT INTO idem_record (created_at, expires_at, locked_until, attempt_id, attempt, status, \
     fingerprint_version, codec, on_lapse, namespace, scope, key, operation, result) \
     SELECT now(), CASE WHEN n % 10 = 0 THEN 'infinity' ELSE now() + interval '1 day' END, \
     CASE WHEN n % 10 = 0 THEN now() + interval '1 hour' END, gen_random_uuid(), 1, \
     CASE WHEN n % 10 = 0 THEN 3 ELSE 1 END, 1, 1, 2, 'mail', '', n, 'send', \
     CASE WHEN n % 10 = 0 THEN NULL ELSE '\\x31'::bytea END FROM generate_series(1, 100000) AS n";

/// The most blocks that an idle search reads.
const BLOCKS: u64 = 20;

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_worker_reads_no_record_on_postgres_whatever_the_planner_knows() {
    for situation in SITUATIONS {
        let explained = Explained::open(situation).await;
        let mut conn = explained.database.connect().await;
        run(&mut conn, RECORDS).await;
        if matches!(
            situation,
            Situation::Analysed | Situation::GenericPlans | Situation::CustomPlans
        ) {
            run(&mut conn, "VACUUM ANALYZE idem_record").await;
        }
        let before = explained.all_plans().await.len();
        let worker = worker_through(explained.pool(1), &Desk::new(&[]), Takeover::of(SEND));
        let swept = worker.run_once().await;
        assert_eq!(swept.expect("it answers"), TakeoverSweep::default());
        let plans = explained.all_plans().await.split_off(before);
        let searches: Vec<_> = plans.iter().filter(|plan| reads_records(plan)).collect();
        assert_eq!(searches.len(), 1, "{situation:?}: {plans:#?}");
        let blocks = |name: &str| searches[0][name].as_u64().expect("a number");
        let read = blocks("Shared Hit Blocks") + blocks("Shared Read Blocks");
        assert!(read <= BLOCKS, "{situation:?}: {read}: {:#}", searches[0]);
    }
}

/// Returns whether the plan or a part of it reads the table.
fn reads_records(plan: &Value) -> bool {
    let parts = plan["Plans"].as_array().into_iter().flatten();
    plan["Relation Name"] == "idem_record" || parts.into_iter().any(reads_records)
}

/// The same on MySQL and MariaDB.
const ON_MYSQL: &str = "INSERT INTO idem_record (created_at, expires_at, locked_until, attempt_id, attempt, status, \
     fingerprint_version, codec, on_lapse, namespace, scope, `key`, operation, result) \
     SELECT 1, IF(n % 10 = 0, 9223372036854775807, 2), IF(n % 10 = 0, 9000000000000000 + n, NULL), \
     UNHEX(LPAD(HEX(n), 32, '0')), 1, IF(n % 10 = 0, 3, 1), 1, 1, 2, 'mail', '', n, 'send', IF(n % 10 = 0, NULL, x'31') \
     FROM (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS n FROM digit AS a, digit AS b, digit AS c, \
     digit AS e, digit AS f) AS numbers";

/// The reads of records, and the statements that select, on the pool's only connection.
async fn counters(pool: &sqlx::MySqlPool) -> (u64, u64) {
    let mut counted = [0, 0];
    for (at, like) in ["Handler_read%", "Com_select"].into_iter().enumerate() {
        let show = AssertSqlSafe(format!("SHOW SESSION STATUS LIKE '{like}'"));
        let rows = pool
            .fetch_all(sqlx::raw_sql(show))
            .await
            .expect("it answers");
        let values = rows.iter().map(|row| row.get::<String, _>(1));
        counted[at] = values
            .map(|value| value.parse::<u64>().expect("a number"))
            .sum();
    }
    (counted[0], counted[1])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_worker_reads_no_record_by_one_statement_on_mysql() {
    let database = MySql::open().await;
    database
        .run(
            "CREATE TABLE digit (d INT PRIMARY KEY); \
             INSERT INTO digit VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
        )
        .await;
    database.run(ON_MYSQL).await;
    for statistics in ["DO 0", "ANALYZE TABLE idem_record"] {
        database.run(statistics).await;
        let pool = database.database.pool(1);
        let worker = worker_through(pool.clone(), &Desk::new(&[]), Takeover::of(SEND));
        let before = counters(&pool).await;
        let swept = worker.run_once().await.expect("it answers");
        assert_eq!(swept, TakeoverSweep::default());
        let after = counters(&pool).await;
        assert!(
            after.0 - before.0 < 100,
            "{statistics}: {before:?} {after:?}"
        );
        assert_eq!(after.1 - before.1, 1, "{statistics}");
    }
}
