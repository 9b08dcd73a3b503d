//! The archive of purges: its migrations as text.
//!
//! [`for_table`](super::for_table) makes them for another table of records.

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
