//! The search for lapsed leases.

use super::super::super::lapsed::LapsedSearch;
use super::super::super::lease_sql::is_to_be_retried;
use super::{NOW, full};

/// Finds lapsed leases; the claim compares again. `?1` is their number, then come namespace and name of each
/// operation, and time, namespace, scope and key of the last lease found before.
///
/// The first condition is the predicate of the partial index, and `+namespace` keeps SQLite from the primary key.
pub(in super::super) fn search(search: &LapsedSearch<'_>) -> String {
    let last = search.operations.len() * 2 + 1;
    let operations: Vec<_> = (2..last)
        .step_by(2)
        .map(|n| format!("+r.namespace = ?{n} AND r.operation = ?{}", n + 1))
        .collect();
    let after = search.after.map_or_else(
        || " AND r.locked_until > 0".to_owned(),
        |_| {
            let [until, namespace, scope, key] = [last + 1, last + 2, last + 3, last + 4];
            format!(
                " AND r.locked_until >= ?{until} AND (+r.locked_until, r.namespace, r.scope, r.key) \
                 > (?{until}, ?{namespace}, ?{scope}, ?{key})"
            )
        },
    );
    format!(
        "SELECT r.namespace AS namespace, r.operation AS operation, r.scope AS scope, r.key AS key, \
         r.attempt_id AS attempt_id, r.attempt AS attempt, r.locked_until AS locked_until, {NOW} AS now \
         FROM {} AS r WHERE r.status IN (3, 4) AND {} AND r.locked_until <= {NOW} AND ({}){after} \
         ORDER BY r.locked_until, r.namespace, r.scope, r.key LIMIT ?1",
        full(search.table),
        is_to_be_retried("r."),
        operations.join(" OR "),
    )
}

#[cfg(test)]
mod tests {
    use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _, SqliteConnection};

    use super::*;
    use crate::stores::lapsed::LapsedLease;
    use crate::stores::session::Migrate as _;
    use crate::values::record::{AttemptId, Timestamp};

    /// 100,000 records: nine of ten are results, and of the leases every second has lapsed.
    const RECORDS: &str = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000) \
         INSERT INTO idem_record (created_at, expires_at, locked_until, attempt_id, attempt, status, \
         fingerprint_version, codec, on_lapse, namespace, scope, key, operation, result) \
         SELECT 1, CASE WHEN x % 10 THEN 2 ELSE 9223372036854775807 END, \
         CASE WHEN x % 10 THEN NULL WHEN x % 20 THEN x ELSE 9000000000000000 END, \
         randomblob(16), 1, CASE WHEN x % 10 THEN 1 ELSE 3 END, 1, 1, 2, 'mail', '', 'k' || x, 'send', \
         CASE WHEN x % 10 THEN x'31' END FROM n";

    #[tokio::test]
    async fn a_search_reads_the_leases_that_have_lapsed_and_no_other_record() {
        let after = LapsedLease {
            namespace: "mail".to_owned(),
            operation: "send".to_owned(),
            scope: String::new(),
            key: "k1".to_owned(),
            attempt_id: AttemptId::random(),
            attempt: 1,
            locked_until: Timestamp::from_micros(1),
            now: Timestamp::from_micros(2),
        };
        let mut conn = SqliteConnection::connect("sqlite::memory:")
            .await
            .expect("opened");
        conn.execute(sqlx::raw_sql(SqliteConnection::MIGRATION))
            .await
            .expect("made");
        for filling in ["SELECT 1", RECORDS, "ANALYZE"] {
            conn.execute(sqlx::raw_sql(filling)).await.expect("written");
            for after in [None, Some(&after)] {
                let statement = search(&LapsedSearch {
                    table: "idem_record",
                    operations: &[("mail", "send"), ("cards", "charge")],
                    limit: 100,
                    after,
                });
                let text = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
                let plan = conn.fetch_all(sqlx::raw_sql(text)).await.expect("a plan");
                let plan: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
                let path = "SEARCH r USING INDEX idem_record_locked_until (locked_until>? AND locked_until<?)";
                assert_eq!(plan.first().map(String::as_str), Some(path), "{plan:?}");
            }
        }
        conn.close().await.expect("closed");
    }
}
