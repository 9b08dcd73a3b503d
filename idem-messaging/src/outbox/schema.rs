//! The outbox's tables: their migration as text, and the checks of them.
//!
//! The schema belongs to the application. The same text ships as files in `migrations/`. The library creates nothing by
//! itself; [`create_if_missing`] is for tests and first steps.

use sqlx::Connection;

use super::error::OutboxError;
use super::store::{OutboxDatabase, dialect::Store};
use super::table::{DEFAULT_TABLE, checked};

/// Returns the migration for PostgreSQL 14 and later, for the default table.
#[cfg(feature = "postgres")]
pub fn postgres() -> &'static str {
    <sqlx::Postgres as Store>::MIGRATION
}

/// Returns the optional migration for PostgreSQL, for the default table, by which appends notify the relays that
/// [listen](super::Relay::listen).
///
/// NOTIFY holds a lock of the whole server while its transaction commits: transactions that append then commit one after
/// another.
#[cfg(feature = "postgres")]
pub fn postgres_notify() -> &'static str {
    include_str!("../../migrations/postgres/0003_idem_outbox_notify.sql")
}

/// Returns the migration for MySQL 8.0.16 and later and MariaDB 10.6 and later, for the default table.
#[cfg(feature = "mysql")]
pub fn mysql() -> &'static str {
    <sqlx::MySql as Store>::MIGRATION
}

/// Returns the migration for SQLite 3.37 and later, for the default table.
#[cfg(feature = "sqlite")]
pub fn sqlite() -> &'static str {
    <sqlx::Sqlite as Store>::MIGRATION
}

/// Returns the text of a migration for another table: `[schema.]name`.
///
/// # Errors
/// [`OutboxError::Table`] if the table is no such name.
pub fn for_table(migration: &str, table: &str) -> Result<String, OutboxError> {
    checked(table)?;
    let (schema, name) = table.rsplit_once('.').map_or(("", table), |(s, n)| (s, n));
    let dot = if schema.is_empty() { "" } else { "." };
    // SQLite names an index with its schema, and its table without it; the others the other way round.
    let is_sqlite = migration.contains("STRICT");
    let (of_index, on) = if is_sqlite {
        (format!("{schema}{dot}{name}"), name.to_owned())
    } else {
        (name.to_owned(), format!("{schema}{dot}{name}"))
    };
    Ok(migration
        .replace("TABLE idem_outbox", &format!("TABLE {schema}{dot}{name}"))
        .replace("INDEX idem_outbox", &format!("INDEX {of_index}"))
        .replace(
            "FUNCTION idem_outbox",
            &format!("FUNCTION {schema}{dot}{name}"),
        )
        .replace("ON idem_outbox ", &format!("ON {on} "))
        .replace("idem_outbox", name))
}

/// Creates the default tables and their indexes, unless they exist. For tests and first steps; in production, run the
/// migration.
///
/// # Errors
/// Any error of the database.
pub async fn create_if_missing<C>(conn: &mut C) -> Result<(), OutboxError>
where
    C: Connection<Database: OutboxDatabase>,
{
    create_table_if_missing(conn, DEFAULT_TABLE).await
}

/// Creates other tables as [`create_if_missing`] does.
///
/// # Errors
/// - [`OutboxError::Table`] if `table` is no name of a table.
/// - Any error of the database.
pub async fn create_table_if_missing<C>(conn: &mut C, table: &str) -> Result<(), OutboxError>
where
    C: Connection<Database: OutboxDatabase>,
{
    let migration = for_table(C::Database::MIGRATION, table)?;
    Ok(C::Database::create(conn, table, migration).await?)
}

/// Checks that the default table keeps one event of an id, numbers appends in their order, and lets a claim be cheap.
/// A relay does so before its first claim; call this function at start-up to detect a fault earlier.
///
/// # Errors
/// - [`OutboxError::Schema`] with the reasons.
/// - Any error of the database.
pub async fn verify<C>(conn: &mut C) -> Result<(), OutboxError>
where
    C: Connection<Database: OutboxDatabase>,
{
    verify_table(conn, DEFAULT_TABLE).await
}

/// Checks another table as [`verify`] does.
///
/// # Errors
/// - [`OutboxError::Table`] if `table` is no name of a table.
/// - The errors of [`verify`].
pub async fn verify_table<C>(conn: &mut C, table: &str) -> Result<(), OutboxError>
where
    C: Connection<Database: OutboxDatabase>,
{
    checked(table)?;
    let findings = C::Database::verify(conn, table).await?;
    if findings.is_empty() {
        return Ok(());
    }
    Err(OutboxError::Schema {
        table: table.to_owned(),
        findings,
    })
}
