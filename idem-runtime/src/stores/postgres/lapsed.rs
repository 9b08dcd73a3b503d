//! Searches for lapsed leases.

use sqlx::postgres::PgConnection;

use super::super::lapsed::{LapsedLease, LapsedSearch};
use super::statement::Statement;
use super::{error, row, sql};
use crate::values::error::Error;

/// Searches by one statement. The number of its values is that of the operations, so it is not kept prepared.
pub(super) async fn lapsed(
    conn: &mut PgConnection,
    search: &LapsedSearch<'_>,
) -> Result<Vec<LapsedLease>, Error> {
    let mut statement =
        Statement::new(sql::lapsed::search(search), false).bind(i64::from(search.limit));
    for (namespace, operation) in search.operations {
        statement = statement.bind(*namespace).bind(*operation);
    }
    if let Some(after) = search.after {
        statement = statement
            .bind(after.locked_until.as_micros())
            .bind(&*after.namespace)
            .bind(&*after.scope)
            .bind(&*after.key);
    }
    let rows = statement
        .fetch_all(conn)
        .await
        .map_err(|error| error::table_error(error, search.table, "SELECT"))?;
    rows.iter()
        .map(|row| row::lapsed_lease(row, row::text))
        .collect()
}
