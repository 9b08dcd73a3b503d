//! Maps result codes to the errors that they mean. One place; never by text.
//!
//! Extended codes carry the primary code in their low byte (sqlite.org/rescode.html).

use crate::values::error::Error;

const ERROR: u32 = 1;
const BUSY: u32 = 5;
const LOCKED: u32 = 6;
const READONLY: u32 = 8;
const INTERRUPT: u32 = 9;
const CANTOPEN: u32 = 14;
const CONSTRAINT: u32 = 19;
const BUSY_SNAPSHOT: u32 = 517;
const CONSTRAINT_PRIMARYKEY: u32 = 1555;
const CONSTRAINT_UNIQUE: u32 = 2067;

/// Maps an error of one of the library's own statements.
pub(super) fn map_error(error: sqlx::Error) -> Error {
    let Some(code) = code(&error) else {
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
    match (code, code & 0xFF) {
        // A transaction that has read, and whose snapshot is no longer the newest, can never write.
        (BUSY_SNAPSHOT, _) => Error::FreshTransactionNeeded,
        (_, BUSY | LOCKED | INTERRUPT) => Error::Busy(error.into()),
        (_, READONLY) => Error::ReadOnly(error.into()),
        (_, CANTOPEN) => Error::Unavailable(error.into()),
        _ => Error::Database(error.into()),
    }
}

/// As [`map_error`], for a statement that names the ownership check: a plain error says that there is no such
/// savepoint.
pub(super) fn savepoint_error(error: sqlx::Error) -> Error {
    if is_plain_error(&error) {
        Error::TransactionEnded
    } else {
        map_error(error)
    }
}

/// As [`map_error`], for BEGIN: a plain error means that a transaction is open.
pub(super) fn begin_error(error: sqlx::Error) -> Error {
    if is_plain_error(&error) {
        Error::AlreadyInTransaction
    } else {
        map_error(error)
    }
}

/// Returns whether the code is `SQLITE_ERROR`: the statement is wrong in its place.
pub(super) fn is_plain_error(error: &sqlx::Error) -> bool {
    code(error) == Some(ERROR)
}

/// Returns whether the error is a primary key or unique violation.
pub(super) fn is_conflict(error: &sqlx::Error) -> bool {
    matches!(code(error), Some(CONSTRAINT_PRIMARYKEY | CONSTRAINT_UNIQUE))
}

/// Returns whether the database was busy or locked: others block it, and COMMIT has done nothing.
pub(super) fn is_busy(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| matches!(code & 0xFF, BUSY | LOCKED))
}

/// Returns whether the file cannot be written.
pub(super) fn is_read_only(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| code & 0xFF == READONLY)
}

/// Returns whether the code is of a lock between connections that share a cache: SQLite does not call the busy
/// handler for it.
pub(super) fn is_shared_cache_lock(code: &str) -> bool {
    code.parse::<u32>().is_ok_and(|code| code & 0xFF == LOCKED)
}

/// Returns whether a deferred constraint failed: the transaction is still open and can only be rolled back.
pub(super) fn is_constraint(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| code & 0xFF == CONSTRAINT)
}

fn code(error: &sqlx::Error) -> Option<u32> {
    error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code)
        .and_then(|code| code.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_without_a_code_fails_closed() {
        assert!(matches!(
            map_error(sqlx::Error::PoolTimedOut),
            Error::Unavailable(_)
        ));
        assert!(matches!(
            map_error(sqlx::Error::BeginFailed),
            Error::AlreadyInTransaction
        ));
        assert!(matches!(
            map_error(sqlx::Error::RowNotFound),
            Error::Database(_)
        ));
    }

    #[test]
    fn only_locks_of_a_shared_cache_are_ours_to_wait_for() {
        assert!(is_shared_cache_lock("6") && is_shared_cache_lock("262"));
        assert!(
            !is_shared_cache_lock("5")
                && !is_shared_cache_lock("517")
                && !is_shared_cache_lock("x")
        );
    }
}
