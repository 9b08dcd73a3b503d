//! Deletes rows of the archive past its own retention.

use std::time::Duration;

use super::batch::Boxed;
use super::settings::archive_table_of;
use crate::stores::hold::hold_table_of;
use crate::stores::operate::{OperateSession, clock};
use crate::values::error::Error;
use crate::values::record::Timestamp;

/// Deletes one batch of the archive's own rows: of this table, at most so many.
pub(crate) type Retirer<C> =
    dyn for<'a> Fn(&'a mut C, &'a str, u32) -> Boxed<'a, Result<u64, Error>> + Send + Sync;

/// Deletes up to `limit` rows, the oldest first, in the transaction that is open. Rows of a scope under a legal hold stay.
pub(crate) async fn retire<S: OperateSession>(
    conn: &mut S,
    table: &str,
    retention: Duration,
    limit: u32,
) -> Result<u64, Error> {
    let has_holds = conn.lock_holds(table).await?;
    let condition = retired(conn, table, retention, has_holds).await?;
    let (dialect, archive) = (S::DIALECT, archive_table_of(table));
    let name = dialect.table(&archive);
    let statement = format!(
        "SELECT {} FROM {name} WHERE {condition} ORDER BY archived_at LIMIT {limit} {}",
        dialect.number_cell("id"),
        dialect.skip_locked,
    );
    let rows = conn.cells(statement, &archive).await?;
    let ids: Vec<_> = rows.iter().filter_map(|row| row.text(0)).collect();
    if ids.is_empty() {
        return Ok(0);
    }
    let statement = format!("DELETE FROM {name} WHERE id IN ({})", ids.join(", "));
    conn.change(statement, &archive).await
}

/// Counts the rows that [`retire`] would delete, however many.
pub(crate) async fn count_retired<S: OperateSession>(
    conn: &mut S,
    table: &str,
    retention: Duration,
) -> Result<u64, Error> {
    let has_holds = conn.has_holds(table).await?;
    let condition = retired(conn, table, retention, has_holds).await?;
    let (dialect, archive) = (S::DIALECT, archive_table_of(table));
    let statement = format!(
        "SELECT {} FROM {} WHERE {condition}",
        dialect.number_cell("count(*)"),
        dialect.table(&archive),
    );
    let rows = conn.cells(statement, &archive).await?;
    let count = rows.first().and_then(|row| row.number(0));
    Ok(count.map_or(0, i64::unsigned_abs))
}

async fn retired<S: OperateSession>(
    conn: &mut S,
    table: &str,
    retention: Duration,
    has_holds: bool,
) -> Result<String, Error> {
    let now = clock(conn, table).await?;
    let ago = i64::try_from(retention.as_micros()).unwrap_or(i64::MAX);
    let before = Timestamp::from_micros(now.as_micros().saturating_sub(ago));
    let dialect = S::DIALECT;
    let is_free = if has_holds {
        let holds = dialect.table(&hold_table_of(table));
        format!(" AND scope NOT IN (SELECT scope FROM {holds})")
    } else {
        String::new()
    };
    Ok(format!(
        "on_table = {} AND archived_at <= {}{is_free}",
        dialect.text(table),
        dialect.time(before)
    ))
}
