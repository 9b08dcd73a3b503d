//! Searches for lapsed leases.

use sqlx::AssertSqlSafe;
use sqlx::sqlite::SqliteConnection;

use super::super::lapsed::{LapsedLease, LapsedSearch};
use super::{row, sql, wrong_or};
use crate::values::error::Error;

/// Searches by one statement.
pub(super) async fn lapsed(
    conn: &mut SqliteConnection,
    search: &LapsedSearch<'_>,
) -> Result<Vec<LapsedLease>, Error> {
    let mut query = sqlx::query(AssertSqlSafe(sql::lapsed::search(search))).bind(search.limit);
    for (namespace, operation) in search.operations {
        query = query.bind(*namespace).bind(*operation);
    }
    if let Some(after) = search.after {
        query = query
            .bind(after.locked_until.as_micros())
            .bind(&*after.namespace)
            .bind(&*after.scope)
            .bind(&*after.key);
    }
    match query.fetch_all(&mut *conn).await {
        Ok(rows) => rows
            .iter()
            .map(|row| row::lapsed_lease(row, row::text))
            .collect(),
        Err(error) => Err(wrong_or(conn, search.table, error).await),
    }
}
