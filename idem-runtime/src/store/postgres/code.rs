//! SQLSTATEs, folded to what they mean. One place; never by text, which depends on the server's
//! language.

use sqlx::error::ErrorKind;
use sqlx::postgres::{PgDatabaseError, PgSeverity};

use crate::error::Error;

/// What an error of one of the library's own statements means.
pub(super) fn fold(error: sqlx::Error) -> Error {
    let Some(code) = sqlstate(&error) else {
        return match error {
            sqlx::Error::ColumnDecode { .. }
            | sqlx::Error::ColumnNotFound(_)
            | sqlx::Error::Decode(_)
            | sqlx::Error::Encode(_)
            | sqlx::Error::RowNotFound
            | sqlx::Error::InvalidSavePointStatement => Error::Database(error.into()),
            sqlx::Error::BeginFailed => Error::AlreadyInTransaction,
            _ => Error::Unavailable(error.into()),
        };
    };
    match code.as_str() {
        "25P02" => Error::TransactionAborted,
        // No transaction to set a savepoint in, or the savepoint is gone: somebody ended it.
        "25P01" | "3B001" => Error::TransactionEnded,
        "25006" => Error::ReadOnly(error.into()),
        "40001" | "40P01" => Error::TransactionLost(error.into()),
        // Lock table full, lock not available, statement cancelled by a timeout.
        "53200" | "55P03" | "57014" => Error::Busy(error.into()),
        // The server ended the session for having been idle in its transaction, or for the
        // transaction's length.
        "25P03" | "25P04" => Error::Unavailable(error.into()),
        code if is_link(code) || code.starts_with("53") => Error::Unavailable(error.into()),
        _ => Error::Database(error.into()),
    }
}

/// What an error of the statements that begin a unit of work means.
pub(super) fn fold_begin(error: sqlx::Error) -> Error {
    match sqlstate(&error).as_deref() {
        // The transaction had begun before: it was aborted, it had read as READ ONLY, or
        // `sql::begin_plain` said so.
        Some("25P02" | "25001" | "42704") => Error::AlreadyInTransaction,
        // A hot standby does not know READ WRITE.
        Some("0A000") => Error::ReadOnly(error.into()),
        _ => fold(error),
    }
}

/// What an error of COMMIT means that is no question of whether it was done.
pub(super) fn fold_commit(error: sqlx::Error) -> Error {
    match fold(error) {
        Error::Database(error) => Error::CommitFailed(error),
        other => other,
    }
}

/// The SQLSTATE of a statement that raised and left its session standing.
pub(super) fn raised(error: &sqlx::Error) -> Option<String> {
    sqlstate(error).filter(|_| !is_ambiguous(error))
}

/// Whether an error at COMMIT leaves open what became of it: a lost link, a terminated backend (one
/// that waited for a synchronous standby *had* committed), the server's own word for it, or a
/// session that ended over it, whatever the code: the server may have panicked (a full disk, 53100)
/// before COMMIT was written or after.
pub(super) fn is_ambiguous(error: &sqlx::Error) -> bool {
    database_error(error).is_none_or(|error| {
        is_link(error.code())
            || error.code() == "40003"
            || matches!(error.severity(), PgSeverity::Fatal | PgSeverity::Panic)
    })
}

/// Whether an error of COMMIT AND CHAIN may come from behind the COMMIT: what begins the next transaction
/// can run out of something (class 53), or meet a cancellation.
pub(super) fn may_follow_commit(error: &sqlx::Error) -> bool {
    sqlstate(error).is_some_and(|code| code.starts_with("53") || code == "57014")
}

/// A unique violation of the record's own table, and not of one that a trigger writes.
pub(super) fn is_our_conflict(error: &sqlx::Error, table: &str) -> bool {
    let Some(found) = database_error(error) else {
        return false;
    };
    let (schema, name) = table
        .rsplit_once('.')
        .map_or((None, table), |(schema, name)| (Some(schema), name));
    found.code() == "23505"
        && sqlx::error::DatabaseError::kind(found) == ErrorKind::UniqueViolation
        && found.table() == Some(name)
        && schema.is_none_or(|schema| found.schema() == Some(schema))
}

/// No such table, or no such schema.
pub(super) fn is_missing_table(error: &sqlx::Error) -> bool {
    sqlstate(error).is_some_and(|code| code == "42P01" || code == "3F000")
}

/// No such column.
pub(super) fn is_missing_column(error: &sqlx::Error) -> bool {
    sqlstate(error).is_some_and(|code| code == "42703")
}

/// Class 08 (connection) and the shutdowns of class 57P.
fn is_link(code: &str) -> bool {
    code.starts_with("08") || (code.starts_with("57P") && code != "57P04")
}

fn sqlstate(error: &sqlx::Error) -> Option<String> {
    database_error(error).map(|error| error.code().to_owned())
}

fn database_error(error: &sqlx::Error) -> Option<&PgDatabaseError> {
    error
        .as_database_error()
        .and_then(|error| error.try_downcast_ref::<PgDatabaseError>())
}
