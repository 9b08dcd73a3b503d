//! The audit table, the archive and the legal holds: their migrations as text, and checks.
//!
//! The same text ships as files in `migrations/`. The library creates nothing by itself.

pub mod archive;
pub mod hold;

use sqlx::Pool;

use super::audit::{audit_table_of, unfit};
use super::error::OperateError;
use super::operator::Operator;
use crate::stores::operate::{OperateBackend, OperateSession};
use crate::values::error::{Error, Field, Invalid, Reason, SchemaFault};
use crate::values::spec::is_table;

/// Returns the migration of the audit table for PostgreSQL 14 and later.
#[cfg(feature = "postgres")]
pub fn postgres() -> &'static str {
    include_str!("../../../migrations/postgres/0002_idem_audit.sql")
}

/// Returns the migration of the audit table for MySQL 8.0.16 and later and MariaDB 10.6 and later.
#[cfg(feature = "mysql")]
pub fn mysql() -> &'static str {
    include_str!("../../../migrations/mysql/0002_idem_audit.sql")
}

/// Returns the migration of the audit table for SQLite 3.37 and later.
#[cfg(feature = "sqlite")]
pub fn sqlite() -> &'static str {
    include_str!("../../../migrations/sqlite/0002_idem_audit.sql")
}

/// Checks that the audit table which belongs to `table` can take a row of every change.
///
/// # Errors
/// - [`OperateError::AuditTable`] if it cannot.
/// - [`OperateError::Library`]: its variant lists what the database may refuse.
pub async fn verify<DB: OperateBackend>(pool: &Pool<DB>, table: &str) -> Result<(), OperateError> {
    let operator = Operator::new(pool.clone()).table(table)?;
    let mut pooled = operator.conn().await?;
    let done = check::<DB>(&mut pooled.conn, &audit_table_of(table)).await;
    pooled.give_back(true).await;
    done
}

async fn check<DB: OperateBackend>(
    conn: &mut DB::Connection,
    table: &str,
) -> Result<(), OperateError> {
    let columns = "id, at, actor, account, action, on_table, namespace, scope, record_key, event_id, reason, detail";
    let found = select::<DB>(conn, table, columns).await;
    found.map_err(|error| unfit(error, table))
}

/// Selects the columns of no row.
async fn select<DB: OperateBackend>(
    conn: &mut DB::Connection,
    table: &str,
    columns: &str,
) -> Result<(), Error> {
    let dialect = <DB::Connection as OperateSession>::DIALECT;
    let statement = format!("SELECT {columns} FROM {} WHERE 1 = 0", dialect.table(table));
    conn.cells(statement, table).await.map(drop)
}

/// Returns whether a table that a service may do without exists, with these columns.
async fn has_columns<DB: OperateBackend>(
    conn: &mut DB::Connection,
    table: &str,
    columns: &str,
) -> Result<bool, OperateError> {
    match select::<DB>(conn, table, columns).await {
        Ok(()) => Ok(true),
        Err(Error::Schema(SchemaFault::TableMissing { .. })) => Ok(false),
        Err(Error::Schema(SchemaFault::Columns { .. })) => {
            Err(OperateError::unfit(table, "it lacks a column"))
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns one of these migrations for another table of records: they are in its schema.
///
/// ```
/// # #[cfg(feature = "sqlite")] {
/// use idem_runtime::operate::schema;
///
/// let text = schema::for_table(schema::sqlite(), "app.idem_record").unwrap();
/// assert!(text.contains("CREATE TABLE app.idem_audit ("));
/// # }
/// ```
///
/// # Errors
/// [`Invalid`] of [`Field::Table`] if the table is no such identifier.
pub fn for_table(migration: &str, table: &str) -> Result<String, Invalid> {
    if !is_table(table) {
        return Err(Invalid::new(Field::Table, Reason::Identifier));
    }
    let mut text = migration.replace("ALTER TABLE idem_record ", &format!("ALTER TABLE {table} "));
    let Some((schema, _)) = table.split_once('.') else {
        return Ok(text);
    };
    for name in ["idem_audit", "idem_archive", "idem_hold"] {
        for word in ["TABLE", "INTO"] {
            let (here, there) = (format!("{word} {name}"), format!("{word} {schema}.{name}"));
            text = text.replace(&here, &there);
        }
        // SQLite names an index with its schema, and its table without it; the others the other way round.
        let (word, end) = if migration.contains("STRICT") {
            ("INDEX", "_")
        } else {
            ("ON", " ")
        };
        let here = format!("{word} {name}{end}");
        text = text.replace(&here, &format!("{word} {schema}.{name}{end}"));
    }
    Ok(text)
}
