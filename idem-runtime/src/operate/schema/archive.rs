//! The archive of purges: its migrations as text, and its check.
//!
//! [`for_table`](super::for_table) makes the migrations for another table of records.

use sqlx::Pool;

use super::has_columns;
use crate::operate::error::OperateError;
use crate::operate::operator::Operator;
use crate::stores::operate::OperateBackend;
use crate::workers::purge::archive_table_of;

/// The columns that a purge writes.
const COLUMNS: &str = "id, archived_at, actor, account, why, on_table, namespace, scope, record_key, operation, status, attempt, \
    attempt_id, created_at, expires_at, locked_until, fingerprint_version, fingerprint, codec, payload_hash, request, result, failure";

/// Checks that the archive which belongs to `table` can take a purged record, and returns whether there is one.
///
/// # Errors
/// - [`OperateError::UnfitTable`] if it lacks a column: it is of another version.
/// - [`OperateError::Library`]: its variant lists what the database may refuse.
pub async fn verify<DB: OperateBackend>(
    pool: &Pool<DB>,
    table: &str,
) -> Result<bool, OperateError> {
    let operator = Operator::new(pool.clone()).table(table)?;
    let mut pooled = operator.conn().await?;
    let done = has_columns::<DB>(&mut pooled.conn, &archive_table_of(table), COLUMNS).await;
    pooled.give_back(true).await;
    done
}

/// Returns the migration of the archive for PostgreSQL 14 and later.
#[cfg(feature = "postgres")]
pub fn postgres() -> &'static str {
    include_str!("../../../migrations/postgres/0003_idem_archive.sql")
}

/// Returns the migration of the archive for MySQL 8.0.16 and later and MariaDB 10.6 and later.
#[cfg(feature = "mysql")]
pub fn mysql() -> &'static str {
    include_str!("../../../migrations/mysql/0003_idem_archive.sql")
}

/// Returns the migration of the archive for SQLite 3.37 and later.
#[cfg(feature = "sqlite")]
pub fn sqlite() -> &'static str {
    include_str!("../../../migrations/sqlite/0003_idem_archive.sql")
}
