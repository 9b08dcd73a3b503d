//! The statements of a purge.

use super::super::super::lease_sql::purgeable;
use super::super::super::session::Purgeable;
use super::hold;

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
    has_holds: bool,
) -> (String, i64) {
    // Sent in one message with the purge's statement. Outside a transaction it applies to that statement alone.
    // In the caller's transaction it has been set already, or it is too late.
    let begin = if is_in_transaction {
        ""
    } else {
        "SET TRANSACTION READ WRITE; "
    };
    let (statuses, column, ago) = purgeable(of);
    let is_free = if has_holds {
        hold::is_free(table)
    } else {
        String::new()
    };
    let statement = format!(
        "{begin}WITH purgeable AS MATERIALIZED (SELECT namespace, scope, key FROM {table} \
         WHERE status IN ({statuses}) \
         AND {column} <= (SELECT pg_catalog.clock_timestamp() - $2 * interval '1 microsecond'){is_free} \
         ORDER BY {column} LIMIT $1 FOR UPDATE SKIP LOCKED) \
         DELETE FROM {table} AS r USING purgeable \
         WHERE r.namespace = purgeable.namespace AND r.scope = purgeable.scope AND r.key = purgeable.key"
    );
    (statement, ago)
}

/// Asks for the lead of a table's purge, and whether there is a table of holds.
///
/// Two numbers ("idem" in ASCII, and the table's): a space apart from that of one number, where identities are.
pub(in super::super) fn lead(table: &str) -> String {
    format!(
        "SELECT pg_try_advisory_xact_lock(1768187245, '{table}'::regclass::oid::int), {}",
        hold::exists(table)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_holds_a_batch_asks_for_none() {
        let (without, _) = batch("app.idem_record", Purgeable::Expired, true, false);
        assert!(!without.contains("hold"), "{without}");
        let (with, _) = batch("app.idem_record", Purgeable::Expired, true, true);
        let asked = " AND scope NOT IN (SELECT scope FROM app.idem_hold)";
        assert_eq!(with.replacen(asked, "", 1), without);
    }
}
