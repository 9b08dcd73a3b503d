//! The table: its migrations as text, and its check. The same text ships as files in `migrations/`, for `sqlx migrate`, refinery or Flyway.

use sqlx::Connection;

use super::entry::VersionError;
use super::store::VersionDatabase;

/// Returns the migration for PostgreSQL 14 and later.
#[cfg(feature = "postgres")]
pub fn postgres() -> &'static str {
    <sqlx::Postgres as VersionDatabase>::MIGRATION
}

/// Returns the migration for MySQL 8.0.16 and later and MariaDB 10.6 and later.
#[cfg(feature = "mysql")]
pub fn mysql() -> &'static str {
    <sqlx::MySql as VersionDatabase>::MIGRATION
}

/// Returns the migration for SQLite 3.37 and later.
#[cfg(feature = "sqlite")]
pub fn sqlite() -> &'static str {
    <sqlx::Sqlite as VersionDatabase>::MIGRATION
}

/// Creates the table, unless it exists. For tests and first steps; in production, run the migration.
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # async fn example(pool: sqlx::SqlitePool) -> Result<(), Box<dyn std::error::Error>> {
/// use idem_messaging::versions::schema;
///
/// let mut conn = pool.acquire().await?;
/// schema::create_if_missing(&mut *conn).await?;
/// schema::verify(&mut *conn).await?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`VersionError::Database`] for an error of the database.
pub async fn create_if_missing<C>(conn: &mut C) -> Result<(), VersionError>
where
    C: Connection<Database: VersionDatabase>,
{
    let migration = C::Database::MIGRATION;
    let migration = migration.replace("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ");
    Ok(C::Database::create(conn, migration).await?)
}

/// Checks that the table keeps one version of an entity of a projection. Call it at start-up: a guard on an unfit table lets
/// events through twice.
///
/// # Errors
/// - [`VersionError::Schema`] with the reasons.
/// - [`VersionError::Database`] for an error of the database.
pub async fn verify<C>(conn: &mut C) -> Result<(), VersionError>
where
    C: Connection<Database: VersionDatabase>,
{
    let findings = C::Database::verify(conn).await?;
    if findings.is_empty() {
        return Ok(());
    }
    Err(VersionError::Schema { findings })
}
