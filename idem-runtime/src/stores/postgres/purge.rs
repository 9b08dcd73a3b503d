//! Deleting what has expired, in batches that stand in nobody's way.

use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, Row as _};

use super::super::session::Purgeable;
use super::error;
use super::statement::Statement;
use crate::values::error::Error;

/// Whatever the session's default: under an older snapshot a row that changed meanwhile would fail
/// the batch.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// One batch: locked rows are skipped, and leases are not touched.
///
/// The clock is asked once, by a query of its own: the value of a volatile function is no condition of
/// an index, and the last batch of each sweep would read every record that has not expired.
pub(super) async fn batch(
    conn: &mut PgConnection,
    table: &str,
    purgeable: Purgeable,
    limit: u32,
) -> Result<u64, Error> {
    // In one message with its statement: outside a transaction, of that one alone; in the caller's, it has
    // been said or is too late.
    let begin = if conn.is_in_transaction() {
        ""
    } else {
        "SET TRANSACTION READ WRITE; "
    };
    let (statuses, column, ago) = match purgeable {
        Purgeable::Expired => ("1, 2, 5", "expires_at", 0),
        Purgeable::Unknown(ago) => ("4", "locked_until", ago),
    };
    let statement = format!(
        "{begin}WITH purgeable AS MATERIALIZED (SELECT namespace, scope, key FROM {table} \
         WHERE status IN ({statuses}) \
         AND {column} <= (SELECT pg_catalog.clock_timestamp() - $2 * interval '1 microsecond') \
         ORDER BY {column} LIMIT $1 FOR UPDATE SKIP LOCKED) \
         DELETE FROM {table} AS r USING purgeable \
         WHERE r.namespace = purgeable.namespace AND r.scope = purgeable.scope AND r.key = purgeable.key"
    );
    let done = Statement::new(statement, false)
        .bind(i64::from(limit))
        .bind(ago)
        .execute(conn)
        .await
        .map_err(|error| map_error(table, error))?;
    Ok(done.rows_affected())
}

/// One batch in a transaction of its own, if no other node has the lead.
pub(super) async fn leading(
    conn: &mut PgConnection,
    table: &str,
    purgeable: Purgeable,
    limit: u32,
) -> Result<Option<u64>, Error> {
    let mut tx = conn.begin_with(BEGIN).await.map_err(error::map_error)?;
    // Two numbers ("idem" in ASCII, and the table's): a space apart from that of one number, where
    // identities are.
    let lead =
        format!("SELECT pg_try_advisory_xact_lock(1768187245, '{table}'::regclass::oid::int)");
    let leads: bool = Statement::new(lead, false)
        .fetch_one(&mut tx)
        .await
        .and_then(|row| row.try_get(0))
        .map_err(|error| map_error(table, error))?;
    let deleted = if leads {
        Some(batch(&mut tx, table, purgeable, limit).await?)
    } else {
        None
    };
    tx.commit().await.map_err(error::map_error)?;
    Ok(deleted)
}

fn map_error(table: &str, error: sqlx::Error) -> Error {
    if error::raised(&error).as_deref() == Some("25001") {
        // A transaction that sqlx does not know of has read as READ ONLY.
        Error::ReadOnly(error.into())
    } else {
        error::table_error(error, table, "SELECT, UPDATE, DELETE")
    }
}
