//! The statements of a purge.

use super::super::super::lease_sql::purgeable;
use super::super::super::session::Purgeable;

/// Begins, whatever the session's default: under an older snapshot a row that changed meanwhile would fail the
/// batch.
pub(in super::super) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// Deletes one batch; skips locked rows, and does not touch leases. Returns the text, and the age in
/// microseconds that is its second value.
///
/// A separate subquery reads the clock once: an index does not serve a condition on a volatile function, so the
/// last batch of each sweep would read every record that has not expired.
pub(in super::super) fn batch(
    table: &str,
    of: Purgeable,
    is_in_transaction: bool,
) -> (String, i64) {
    // Sent in one message with the purge's statement. Outside a transaction it applies to that statement alone.
    // In the caller's transaction it has been set already, or it is too late.
    let begin = if is_in_transaction {
        ""
    } else {
        "SET TRANSACTION READ WRITE; "
    };
    let (statuses, column, ago) = purgeable(of);
    let statement = format!(
        "{begin}WITH purgeable AS MATERIALIZED (SELECT namespace, scope, key FROM {table} \
         WHERE status IN ({statuses}) \
         AND {column} <= (SELECT pg_catalog.clock_timestamp() - $2 * interval '1 microsecond') \
         ORDER BY {column} LIMIT $1 FOR UPDATE SKIP LOCKED) \
         DELETE FROM {table} AS r USING purgeable \
         WHERE r.namespace = purgeable.namespace AND r.scope = purgeable.scope AND r.key = purgeable.key"
    );
    (statement, ago)
}

/// Asks for the lead of a table's purge.
///
/// Two numbers ("idem" in ASCII, and the table's): a space apart from that of one number, where identities are.
pub(in super::super) fn lead(table: &str) -> String {
    format!("SELECT pg_try_advisory_xact_lock(1768187245, '{table}'::regclass::oid::int)")
}
