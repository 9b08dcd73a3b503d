//! A database's error, kept as it came.

use std::borrow::Cow;
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
            .map(Cow::into_owned)
    }

    /// What kind of error it is, in words of the library's own: for messages and logs that must
    /// not hold what a server's message may quote.
    pub fn cause(&self) -> Cow<'static, str> {
        use sqlx::Error::{Database, Io, PoolClosed, PoolTimedOut, Protocol, Tls, WorkerCrashed};
        match &self.0 {
            PoolTimedOut => "no connection of the pool became free in time".into(),
            PoolClosed => "the pool is closed".into(),
            WorkerCrashed => "the driver's thread has ended".into(),
            Tls(_) => "the TLS handshake failed".into(),
            Protocol(_) => "the server's answer was not understood".into(),
            Io(error) => error.kind().to_string().into(),
            Database(_) => match self.code() {
                Some(code) => format!("code {code}").into(),
                None => "the database reported no code".into(),
            },
            _ => "the driver refused".into(),
        }
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
