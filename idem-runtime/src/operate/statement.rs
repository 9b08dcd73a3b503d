//! Statements on another table of the family: that of the outbox, for example.

use serde_json::json;
use sqlx::Pool;

use super::audit::{AuditedChange, Author, audit};
use super::error::OperateError;
use super::operator::end;
use crate::calls::kit::pooled_conn::PooledConn;
use crate::stores::operate::{Cells, OperateBackend, OperateSession as _, clock};
use crate::values::record::Timestamp;

/// Sends a statement on `table` that answers text in every column, and returns its rows with the database's clock. Values
/// in it must be spelled by [`Dialect`](super::Dialect).
///
/// # Errors
/// [`OperateError::Library`]: its variant lists what the database may refuse.
pub async fn cells<DB: OperateBackend>(
    pool: &Pool<DB>,
    statement: String,
    table: &str,
) -> Result<(Vec<Cells>, Timestamp), OperateError> {
    let mut pooled = PooledConn::from(pool).await?;
    let done = async {
        let now = clock(&mut *pooled.conn, table).await?;
        let rows = pooled.conn.cells(statement, table).await?;
        Ok((rows, now))
    };
    let done = done.await;
    pooled.give_back(done.is_ok()).await;
    done
}

/// Sends statements that change rows, made for the time of the database's clock, and writes a row of the audit table in the
/// same transaction, whose detail has the numbers of rows. Returns these numbers. If no row is changed, nothing is written.
///
/// # Errors
/// - [`OperateError::AuditTable`] if the audit table cannot take the row.
/// - [`OperateError::Library`]: its variant lists what the database may refuse.
pub async fn audited<DB: OperateBackend>(
    pool: &Pool<DB>,
    statements: impl FnOnce(Timestamp) -> Vec<String> + Send,
    author: &Author,
    change: &AuditedChange<'_>,
) -> Result<Vec<u64>, OperateError> {
    let mut pooled = PooledConn::from(pool).await?;
    let done = audited_on::<DB>(&mut pooled.conn, statements, author, change).await;
    pooled.give_back(done.is_ok()).await;
    done
}

async fn audited_on<DB: OperateBackend>(
    conn: &mut DB::Connection,
    statements: impl FnOnce(Timestamp) -> Vec<String> + Send,
    author: &Author,
    change: &AuditedChange<'_>,
) -> Result<Vec<u64>, OperateError> {
    let now = clock(conn, change.on_table).await?;
    let statements = statements(now);
    let mut tx = conn.open_to_change().await?;
    let done = async {
        let mut rows = Vec::new();
        for statement in statements {
            rows.push(tx.change(statement, change.on_table).await?);
        }
        if rows.iter().any(|rows| *rows > 0) {
            let detail = json!({ "rows": rows }).to_string();
            let change = AuditedChange {
                detail: &detail,
                ..*change
            };
            audit(&mut *tx, author, &change).await?;
        }
        Ok(rows)
    };
    let done = done.await;
    end(tx, done).await
}
