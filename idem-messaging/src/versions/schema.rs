//! The table's migrations as text. The same text ships as files in `migrations/`, for `sqlx migrate`, refinery or Flyway.

use sqlx::Connection;

use super::entry::VersionError;
use super::store::VersionDatabase;

/// Returns the migration for PostgreSQL 14 and later.
#[cfg(feature = "postgres")]
pub fn postgres() -> &'static str {
    include_str!("../../migrations/postgres/0002_idem_version.sql")
}

/// Returns the migration for MySQL 8.0.16 and later and MariaDB 10.6 and later.
#[cfg(feature = "mysql")]
pub fn mysql() -> &'static str {
    include_str!("../../migrations/mysql/0002_idem_version.sql")
}

/// Returns the migration for SQLite 3.37 and later.
#[cfg(feature = "sqlite")]
pub fn sqlite() -> &'static str {
    include_str!("../../migrations/sqlite/0002_idem_version.sql")
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
