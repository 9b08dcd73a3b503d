//! A database error whose text is safe to print.

use std::borrow::Cow;
use std::fmt;
#[cfg(feature = "mysql")]
use std::io;
#[cfg(feature = "mysql")]
use std::time::Duration;

/// The database error behind an [`Error`](crate::Error).
///
/// A server's message may quote a key, a request or a result: "Failing row contains (..)", "Duplicate
/// entry 'x' for key". Therefore `Display` and `Debug` show [`cause`](Self::cause) instead, and
/// [`source`](std::error::Error::source) returns `None`; [`as_sqlx`](Self::as_sqlx) returns the full error.
pub struct DatabaseError(sqlx::Error);

impl DatabaseError {
    /// Returns the vendor's code (SQLSTATE on PostgreSQL, MySQL and MariaDB, the extended result code on SQLite), if
    /// the server sent one.
    pub fn code(&self) -> Option<String> {
        self.0
            .as_database_error()
            .and_then(sqlx::error::DatabaseError::code)
            .map(Cow::into_owned)
    }

    /// Describes the error in the library's own words, with the server's code and the name of the
    /// violated constraint. It never contains the server's message, and is safe for messages and
    /// logs.
    pub fn cause(&self) -> Cow<'static, str> {
        use sqlx::Error::{
            Database, Encode, Io, PoolClosed, PoolTimedOut, Protocol, Tls, WorkerCrashed,
        };
        match &self.0 {
            PoolTimedOut => "no connection of the pool became free in time".into(),
            PoolClosed => "the pool is closed".into(),
            WorkerCrashed => "the driver's thread has ended".into(),
            Tls(_) => "the TLS handshake failed".into(),
            Protocol(_) => "the driver did not understand the server's answer".into(),
            #[cfg(feature = "mysql")]
            Io(error) if let Some(silence) = Silence::of(error) => silence.to_string().into(),
            Io(error) => error.kind().to_string().into(),
            Database(error) => match (self.code(), constraint(&**error)) {
                (Some(code), Some(name)) => format!("code {code}, constraint `{name}`").into(),
                (Some(code), None) => format!("code {code}").into(),
                (None, _) => "the database reported no code".into(),
            },
            #[cfg(feature = "mysql")]
            Encode(error) if let Some(too_long) = error.downcast_ref::<MessageTooLong>() => {
                too_long.to_string().into()
            }
            Encode(_) => "the driver could not encode a value".into(),
            _ => "the driver reported an error".into(),
        }
    }

    /// Returns the error as sqlx reported it. It may quote a key, a request or a result; do not log it.
    pub fn as_sqlx(&self) -> &sqlx::Error {
        &self.0
    }
}

/// A statement that is longer than its server reads. It was not sent.
#[cfg(feature = "mysql")]
#[derive(Debug, thiserror::Error)]
#[error(
    "a statement of {bytes} bytes is over the server's {setting} of {limit}: record less, or raise {setting}"
)]
pub(crate) struct MessageTooLong {
    pub(crate) bytes: usize,
    pub(crate) limit: i64,
    /// The name of the server's setting.
    pub(crate) setting: &'static str,
}

/// A connection that does not answer: its link is silent, or its server stands still. Or the driver waits for an answer
/// that never comes, since a query was dropped before it was answered: that cannot be told apart.
#[cfg(feature = "mysql")]
#[derive(Debug, thiserror::Error)]
#[error(
    "no answer within {} s: if this comes with every call, the body drops a query before it is answered; close a connection of your own, as its next statement may wait for ever",
    .within.as_secs()
)]
pub(crate) struct Silence {
    pub(crate) within: Duration,
}

#[cfg(feature = "mysql")]
impl Silence {
    /// Returns the silence that an error stands for.
    fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// Returns whether the error is a silence.
    pub(crate) fn is(error: &sqlx::Error) -> bool {
        matches!(error, sqlx::Error::Io(error) if Self::of(error).is_some())
    }
}

#[cfg(feature = "mysql")]
impl From<Silence> for sqlx::Error {
    fn from(silence: Silence) -> Self {
        io::Error::new(io::ErrorKind::TimedOut, silence).into()
    }
}

/// Returns the name of the violated constraint, if the server names one and it is a plain identifier.
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
