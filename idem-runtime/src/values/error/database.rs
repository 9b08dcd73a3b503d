//! A database's error, kept as it came and shown without what it quotes.

use std::borrow::Cow;
use std::fmt;

/// The database error behind an [`Error`](crate::Error).
///
/// A server's message may quote a key, a request or a result: "Failing row contains (..)", "Duplicate
/// entry 'x' for key". `Display` and `Debug` show [`cause`](Self::cause) instead, and
/// [`source`](std::error::Error::source) ends here; [`as_sqlx`](Self::as_sqlx) has the whole.
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

    /// What kind of error it is, in words of the library's own, with the server's code and the name
    /// of the constraint that was violated: for messages and logs that must not hold what a server's
    /// message may quote.
    pub fn cause(&self) -> Cow<'static, str> {
        use sqlx::Error::{Database, Io, PoolClosed, PoolTimedOut, Protocol, Tls, WorkerCrashed};
        match &self.0 {
            PoolTimedOut => "no connection of the pool became free in time".into(),
            PoolClosed => "the pool is closed".into(),
            WorkerCrashed => "the driver's thread has ended".into(),
            Tls(_) => "the TLS handshake failed".into(),
            Protocol(_) => "the server's answer was not understood".into(),
            Io(error) => error.kind().to_string().into(),
            Database(error) => match (self.code(), constraint(&**error)) {
                (Some(code), Some(name)) => format!("code {code}, constraint `{name}`").into(),
                (Some(code), None) => format!("code {code}").into(),
                (None, _) => "the database reported no code".into(),
            },
            _ => "the driver refused".into(),
        }
    }

    /// The error as sqlx reported it. It may quote a key, a request or a result, and so may whatever
    /// prints it.
    pub fn as_sqlx(&self) -> &sqlx::Error {
        &self.0
    }
}

/// The name of the constraint that was violated, if the server names one and it is a plain name.
fn constraint(error: &dyn sqlx::error::DatabaseError) -> Option<&str> {
    let name = error.constraint()?;
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    is_plain.then_some(name)
}

impl From<sqlx::Error> for DatabaseError {
    fn from(error: sqlx::Error) -> Self {
        Self(error)
    }
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause())
    }
}

impl fmt::Debug for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DatabaseError").field(&self.cause()).finish()
    }
}

impl std::error::Error for DatabaseError {}
