//! The table's migrations as text. The same text ships as files in `migrations/`, for `sqlx migrate`, refinery or Flyway.

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
