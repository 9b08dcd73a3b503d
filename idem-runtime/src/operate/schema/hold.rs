//! Legal holds: their migrations as text, and their check.
//!
//! On MySQL and MariaDB the migration sets the comment of the table of records, by which every account sees that there are
//! holds. [`for_table`](super::for_table) makes them for another table of records.

use sqlx::Pool;

use super::has_columns;
use crate::operate::error::OperateError;
use crate::operate::operator::Operator;
use crate::stores::Session as _;
use crate::stores::hold::{hold_table_of, lock_table_of};
use crate::stores::operate::{OperateBackend, OperateSession};

/// Checks that the table of holds which belongs to `table` can take a hold, that its lock has its row, and that the table of
/// records knows of it (MySQL and MariaDB: by its comment). Returns whether there is one.
///
/// # Errors
/// - [`OperateError::UnfitTable`] if a column or the row of the lock is missing.
/// - [`OperateError::HoldTable`] if `table` names holds whose table is missing, or does not know of a table that is there.
/// - [`OperateError::Library`]: its variant lists what the database may refuse.
pub async fn verify<DB: OperateBackend>(
    pool: &Pool<DB>,
    table: &str,
) -> Result<bool, OperateError> {
    let operator = Operator::new(pool.clone()).table(table)?;
    let mut pooled = operator.conn().await?;
    let done = check::<DB>(&mut pooled.conn, table).await;
    pooled.give_back(true).await;
    done
}

async fn check<DB: OperateBackend>(
    conn: &mut DB::Connection,
    table: &str,
) -> Result<bool, OperateError> {
    let dialect = <DB::Connection as OperateSession>::DIALECT;
    let holds = hold_table_of(table);
    let exists = has_columns::<DB>(conn, &holds, "scope, at, actor, account, reason").await?;
    if exists != conn.has_holds(table).await? {
        return Err(OperateError::HoldTable {
            table: holds,
            records: table.to_owned(),
        });
    }
    if !exists || !dialect.locks_holds {
        return Ok(exists);
    }
    let lock = lock_table_of(table);
    let number = dialect.number_cell("changes");
    let statement = format!("SELECT {number} FROM {} WHERE id = 1", dialect.table(&lock));
    match conn.cells(statement, &lock).await?.len() {
        1 => Ok(true),
        _ => Err(OperateError::unfit(&lock, "its row is missing")),
    }
}

/// Returns the migration of legal holds for PostgreSQL 14 and later.
#[cfg(feature = "postgres")]
pub fn postgres() -> &'static str {
    include_str!("../../../migrations/postgres/0004_idem_hold.sql")
}

/// Returns the migration of legal holds for MySQL 8.0.16 and later and MariaDB 10.6 and later.
#[cfg(feature = "mysql")]
pub fn mysql() -> &'static str {
    include_str!("../../../migrations/mysql/0004_idem_hold.sql")
}

/// Returns the migration of legal holds for SQLite 3.37 and later.
#[cfg(feature = "sqlite")]
pub fn sqlite() -> &'static str {
    include_str!("../../../migrations/sqlite/0004_idem_hold.sql")
}
