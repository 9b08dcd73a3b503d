//! What an error of a handler's own statement is to a broker.

use sqlx::error::DatabaseError;

use super::answer::{Answer, AsAnswer};

impl AsAnswer for sqlx::Error {
    /// Sorts the errors of a handler's own statements, by code and never by text.
    ///
    /// - No connection, one that was lost, no place in the pool, a server that shuts down or is full (SQLSTATE classes 08
    ///   and 53, 57P01 to 57P05): [`Unavailable`](Answer::Unavailable).
    /// - A deadlock, a serialization failure, a lock that was not had in time (SQLSTATE 40001, 40P01, 55P03; 1020, 1205, 1213 and
    ///   3572 on MySQL; `BUSY` and `LOCKED` on SQLite): [`Conflict`](Answer::Conflict).
    /// - All others: [`Failed`](Answer::Failed). They are the handler's, and use up an attempt.
    fn as_answer(&self) -> Answer {
        let detail = || self.to_string();
        match self {
            Self::Io(_)
            | Self::Tls(_)
            | Self::PoolTimedOut
            | Self::PoolClosed
            | Self::WorkerCrashed => Answer::Unavailable { detail: detail() },
            Self::Database(error) if is_away(error.as_ref()) => {
                Answer::Unavailable { detail: detail() }
            }
            Self::Database(error) if is_conflict(error.as_ref()) => {
                Answer::Conflict { detail: detail() }
            }
            _ => Answer::Failed { detail: detail() },
        }
    }
}

fn is_away(error: &dyn DatabaseError) -> bool {
    // SQLite's codes are numbers of its own, and none has five characters.
    error.code().is_some_and(|code| {
        code.len() == 5
            && (code.starts_with("08") || code.starts_with("53") || code.starts_with("57P0"))
    })
}

fn is_conflict(error: &dyn DatabaseError) -> bool {
    #[cfg(feature = "mysql")]
    if let Some(error) = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return matches!(error.number(), 1020 | 1205 | 1213 | 3572);
    }
    #[cfg(feature = "sqlite")]
    if error
        .try_downcast_ref::<sqlx::sqlite::SqliteError>()
        .is_some()
    {
        let code = error.code().and_then(|code| code.parse::<u32>().ok());
        // The lowest byte is the primary code: 5 is BUSY, 6 is LOCKED.
        return code.is_some_and(|code| matches!(code & 0xff, 5 | 6));
    }
    matches!(error.code().as_deref(), Some("40001" | "40P01" | "55P03"))
}
