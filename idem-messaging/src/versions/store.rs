//! What is asked of a database.

use super::entry::VersionEntry;

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
    ) -> impl Future<Output = Result<Option<i64>, sqlx::Error>> + Send;

    /// Advances the row, if there is one, if the version is the next one. Returns the version found, or `None` if there
    /// was none.
    #[doc(hidden)]
    fn advance(
        &mut self,
        entry: &VersionEntry,
    ) -> impl Future<Output = Result<Option<i64>, sqlx::Error>> + Send;

    /// Inserts the row or sets its version.
    #[doc(hidden)]
    fn reset(
        &mut self,
        entry: &VersionEntry,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send;
}
