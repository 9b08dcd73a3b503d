//! The statements of lease mode.

use super::super::super::lapsed::Page;
use super::super::super::lease::Overdue;
use super::super::super::lease_sql::{LeaseDialect, LeaseValues, WriteValues, condition, lapsed};
use super::super::claim::SqliteClaimRequest;
use super::{COLUMNS, NOW, full};
use crate::decision::Change;
use crate::values::record::{RecordFormat, Status};

const IDENTITY: &str = "namespace = ?1 AND scope = ?2 AND key = ?3";

const DIALECT: LeaseDialect = LeaseDialect {
    insert: "INSERT OR ABORT INTO",
    update: "UPDATE OR ABORT",
    key: "key",
    status: "status",
    now: NOW,
    never: "9223372036854775807",
    microsecond: "",
    clock: ("", NOW),
};

/// Writes the record in progress: inserts it, or replaces the record whose attempt is `?11`.
pub(in super::super) fn upsert(
    request: &SqliteClaimRequest,
    format: RecordFormat,
    replaces: bool,
    take_over: bool,
) -> String {
    let table = full(&request.table);
    let value = |n: u8| format!("?{n}");
    let values = LeaseValues {
        namespace: value(1),
        scope: value(2),
        key: value(3),
        lease: value(4),
        attempt_id: value(5),
        attempt: value(6),
        operation: value(7),
        fingerprint: value(8),
        request: value(9),
        on_lapse: value(10),
    };
    if replaces {
        let is_replaced = format!("{IDENTITY} AND attempt_id = ?11");
        DIALECT.replace(&table, &values, format, ("", &is_replaced), take_over)
    } else {
        DIALECT.insert(&table, &values, format, ("SELECT ", " WHERE ?11 IS NULL"))
    }
}

/// Updates a record on condition, for the lease's owner or for a caller that has read the record.
pub(in super::super) fn update(request: &SqliteClaimRequest, change: (Change, i16)) -> String {
    let value = |n: u8| format!("?{n}");
    let values = WriteValues {
        expected: value(4),
        becomes: value(5),
        lasts: value(6),
        result: value(7),
        failure: value(8),
    };
    DIALECT.change(&full(&request.table), change, &values, IDENTITY)
}

/// Extends this many leases, of five values each.
pub(in super::super) fn extend(table: &str, leases: usize) -> String {
    let values = vec!["(?, ?, ?, ?, ?)"; leases].join(", ");
    format!(
        "WITH due (namespace, scope, key, attempt_id, lasts) AS (VALUES {values}) \
         UPDATE OR ABORT {} AS r SET locked_until = {NOW} + due.lasts FROM due \
         WHERE r.namespace = due.namespace AND r.scope = due.scope AND r.key = due.key \
         AND r.attempt_id = due.attempt_id AND r.{} RETURNING attempt_id",
        full(table),
        condition("status", Change::Extend, NOW),
    )
}

/// Is true of every lease and every unknown outcome. The first condition is the partial index's own predicate, and
/// the second is a range of its column: SQLite then reads the index and not the table. Beside it `+namespace` keeps
/// SQLite from reading every record of the namespace by the primary key.
const BY_LEASE: &str = "status IN (3, 4) AND locked_until > 0";

/// Changes lapsed leases of one operation as their policy says.
pub(in super::super) fn lapse(overdue: &Overdue<'_>) -> String {
    let full = full(overdue.table);
    format!(
        "UPDATE {full} SET {} WHERE (namespace, scope, key) IN (SELECT namespace, scope, key FROM {full} \
         WHERE +namespace = ?1 AND operation = ?2 AND {BY_LEASE} AND {} ORDER BY locked_until LIMIT ?3)",
        lapsed(&format!("{NOW} + ?4"), "?5"),
        condition("status", Change::Lapse, NOW),
    )
}

/// Lists records of unknown outcome, oldest lapse first.
pub(in super::super) fn unknown(page: &Page<'_>) -> String {
    let after = page
        .after
        .map_or("", |_| "AND (locked_until, scope, key) > (?3, ?4, ?5)");
    format!(
        "SELECT r.scope AS scope, r.key AS key, {COLUMNS} FROM {} AS r \
         WHERE +namespace = ?1 AND {BY_LEASE} AND status = {} {after} \
         ORDER BY r.locked_until, r.scope, r.key LIMIT ?2",
        full(page.table),
        Status::Unknown.code(),
    )
}

/// Counts a namespace's records of unknown outcome.
pub(in super::super) fn count_unknown(table: &str) -> String {
    let unknown = Status::Unknown.code();
    format!(
        "SELECT count(*) FROM {} WHERE +namespace = ?1 AND {BY_LEASE} AND status = {unknown}",
        full(table)
    )
}

#[cfg(test)]
mod tests {
    use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _, SqliteConnection};

    use super::*;
    use crate::stores::session::Migrate as _;
    use crate::values::record::{AttemptId, Timestamp};

    const TABLE: &str = "idem_record";

    /// Records of one namespace that are no leases, and some that are.
    const RECORDS: &str = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000) \
         INSERT INTO idem_record (created_at, expires_at, locked_until, attempt_id, attempt, status, \
         fingerprint_version, codec, on_lapse, namespace, scope, key, operation, result) \
         SELECT 1, CASE WHEN x % 10 THEN 2 ELSE 9223372036854775807 END, CASE WHEN x % 10 THEN NULL ELSE x END, \
         randomblob(16), 1, CASE WHEN x % 10 THEN 1 ELSE 3 + (x % 20) / 10 END, 1, 1, 1, 'mail', '', 'k' || x, \
         'send', CASE WHEN x % 10 THEN x'31' END FROM n; ANALYZE";

    async fn plan(conn: &mut SqliteConnection, statement: &str) -> Vec<String> {
        let text = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
        let rows = conn.fetch_all(sqlx::raw_sql(text)).await;
        let rows = rows.unwrap_or_else(|error| panic!("{statement}: {error}"));
        rows.iter().map(|row| row.get("detail")).collect()
    }

    #[tokio::test]
    async fn what_looks_for_leases_reads_no_other_record_and_a_change_finds_its_record_by_the_key()
    {
        let overdue = Overdue {
            table: TABLE,
            namespace: "mail",
            operation: "send",
            retention: 1,
            becomes: AttemptId::random(),
            limit: 5,
        };
        let page = |after| Page {
            table: TABLE,
            namespace: "mail",
            limit: 5,
            after,
        };
        let last = Some((Timestamp::from_micros(1), "", "k"));
        let statements = [
            lapse(&overdue),
            unknown(&page(None)),
            unknown(&page(last)),
            count_unknown(TABLE),
            extend(TABLE, 2),
        ];
        let by_lease = "idem_record_locked_until (locked_until";
        let by_key = "(namespace=? AND scope=? AND key=?)";
        let mut conn = SqliteConnection::connect("sqlite::memory:")
            .await
            .expect("opened");
        conn.execute(sqlx::raw_sql(SqliteConnection::MIGRATION))
            .await
            .expect("made");
        for records in ["SELECT 1", RECORDS] {
            conn.execute(sqlx::raw_sql(records)).await.expect("written");
            for (number, statement) in statements.iter().enumerate() {
                let plan = plan(&mut conn, statement).await;
                let paths: Vec<_> = plan.iter().filter(|step| step.contains("INDEX")).collect();
                let wanted: &[&str] = match number {
                    0 => &[by_key, by_lease],
                    4 => &[by_key],
                    _ => &[by_lease],
                };
                assert_eq!(paths.len(), wanted.len(), "{statement}: {plan:?}");
                for (path, wanted) in paths.iter().zip(wanted) {
                    assert!(
                        path.starts_with("SEARCH") && path.contains(wanted),
                        "{statement}: {plan:?}"
                    );
                }
            }
        }
        conn.close().await.expect("closed");
    }
}
