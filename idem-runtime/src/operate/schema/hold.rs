//! Legal holds: their migrations as text.
//!
//! On MySQL and MariaDB the migration sets the comment of the table of records, by which every account sees that there are
//! holds. [`for_table`](super::for_table) makes them for another table of records.

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
