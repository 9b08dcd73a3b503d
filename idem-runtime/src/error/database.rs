//! A database's error, kept as it came.

use std::fmt;

/// The database error behind an [`Error`](crate::Error), as sqlx reported it.
#[derive(Debug)]
pub struct DatabaseError(sqlx::Error);

impl DatabaseError {
    /// The vendor's code (SQLSTATE on PostgreSQL, MySQL and MariaDB, the extended result code on SQLite), if the
    /// server sent one.
    pub fn code(&self) -> Option<String> {
        self.0
            .as_database_error()
            .and_then(sqlx::error::DatabaseError::code)
            .map(std::borrow::Cow::into_owned)
    }

    /// The error as sqlx reported it.
    pub fn as_sqlx(&self) -> &sqlx::Error {
        &self.0
    }
}

impl From<sqlx::Error> for DatabaseError {
    fn from(error: sqlx::Error) -> Self {
        Self(error)
    }
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::error::Error for DatabaseError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.0)
    }
}
