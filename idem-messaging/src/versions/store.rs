//! What is asked of a database.

use sqlx::{Database, Error};

use super::entry::VersionEntry;

/// A database that can hold the table: PostgreSQL, MySQL and MariaDB, SQLite.
pub trait VersionDatabase: Database {
    /// The table's migration.
    #[doc(hidden)]
    const MIGRATION: &'static str;

    /// Creates the table by a migration that does nothing if there is one.
    #[doc(hidden)]
    fn create(
        conn: &mut Self::Connection,
        migration: String,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Returns in words what makes the table unfit.
    #[doc(hidden)]
    fn verify(
        conn: &mut Self::Connection,
    ) -> impl Future<Output = Result<Vec<String>, Error>> + Send;
}

/// An open transaction of a database that has the table: sqlx's `Transaction` of PostgreSQL, MySQL and SQLite.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no transaction that versions are kept in",
    note = "pass `&mut sqlx::Transaction` of PostgreSQL, MySQL or SQLite, and turn on that feature of idem-messaging"
)]
pub trait VersionTransaction: Send {
    /// Inserts the row if there is none, else advances it if the version is the next one. Returns the version found, or
    /// `None` if there was none.
    #[doc(hidden)]
    fn insert_or_advance(
        &mut self,
        entry: &VersionEntry,
    ) -> impl Future<Output = Result<Option<i64>, Error>> + Send;

    /// Advances the row, if there is one, if the version is the next one. Returns the version found, or `None` if there
    /// was none.
    #[doc(hidden)]
    fn advance(
        &mut self,
        entry: &VersionEntry,
    ) -> impl Future<Output = Result<Option<i64>, Error>> + Send;

    /// Inserts the row if there is none, else advances it if the version is greater. Returns the version found, or `None`
    /// if there was none.
    #[doc(hidden)]
    fn insert_or_raise(
        &mut self,
        entry: &VersionEntry,
    ) -> impl Future<Output = Result<Option<i64>, Error>> + Send;

    /// Inserts the row or sets its version.
    #[doc(hidden)]
    fn reset(&mut self, entry: &VersionEntry) -> impl Future<Output = Result<(), Error>> + Send;
}
