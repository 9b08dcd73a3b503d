//! Maps error numbers to the errors that they mean. One place; never by text, which depends on the server's
//! language, and not by SQLSTATE, which is too coarse here (`HY000` for most).
//!
//! The numbers are from MySQL's and MariaDB's manuals; those from 1900 to 2000 and above 4000 belong to one of
//! the servers only.

use sqlx::mysql::MySqlDatabaseError;

use crate::values::error::{Error, SchemaFault};

const DUPLICATE: u16 = 1062;
const LOCK_WAIT_TIMEOUT: u16 = 1205;
const WRONG_VALUE: u16 = 1231;
const DEADLOCK: u16 = 1213;
const NO_SAVEPOINT: u16 = 1305;
const IN_TRANSACTION: u16 = 1568;
const OUT_OF_RANGE: u16 = 1690;
const LOCK_NOWAIT: u16 = 3572;

/// Maps an error of one of the library's own statements.
pub(super) fn map_error(error: sqlx::Error) -> Error {
    let Some(number) = number(&error) else {
        return match error {
            sqlx::Error::ColumnDecode { .. }
            | sqlx::Error::ColumnNotFound(_)
            | sqlx::Error::Decode(_)
            | sqlx::Error::Encode(_)
            | sqlx::Error::RowNotFound
            | sqlx::Error::InvalidSavePointStatement => Error::Database(error.into()),
            // The driver asked, and the server answered that no transaction is open.
            sqlx::Error::BeginFailed => Error::TransactionEnded,
            _ => Error::Unavailable(error.into()),
        };
    };
    match number {
        NO_SAVEPOINT => Error::TransactionEnded,
        IN_TRANSACTION => Error::AlreadyInTransaction,
        // A deadlock (and Galera's certification of a conflict), a full lock table, a snapshot too old
        // (MariaDB's innodb_snapshot_isolation): all of the transaction is rolled back.
        DEADLOCK | 1020 | 1206 | 3101 => Error::TransactionLost(error.into()),
        // A wait for a lock or a statement's time has run out, or a KILL QUERY has cancelled it. Or BEGIN has
        // met another `completion_type`, and is sent otherwise from now on.
        LOCK_WAIT_TIMEOUT | LOCK_NOWAIT | 1317 | 1969 | 3024 | WRONG_VALUE => {
            Error::Busy(error.into())
        }
        // The table, the server, the transaction, InnoDB.
        1036 | 1290 | 1792 | 1836 => Error::ReadOnly(error.into()),
        number if is_link(number) => Error::Unavailable(error.into()),
        _ => Error::Database(error.into()),
    }
}

/// As [`map_error`], for a statement that reads or writes the record's table.
pub(super) fn table_error(error: sqlx::Error, table: &str) -> Error {
    let table = table.to_owned();
    if is_missing_table(&error) {
        SchemaFault::TableMissing { table }.into()
    } else if number(&error) == Some(1054) {
        SchemaFault::Columns { table }.into()
    } else if number(&error) == Some(1178) {
        // The engine knows no savepoints.
        SchemaFault::NotTransactional { table }.into()
    } else {
        map_error(error)
    }
}

/// Returns whether an error at COMMIT leaves open what became of it. All do but those by which the server
/// reports that it has rolled back: then another connection asks what became of it.
pub(super) fn is_ambiguous(error: &sqlx::Error) -> bool {
    !matches!(number(error), Some(DEADLOCK | 1020 | 3101))
}

/// Returns whether an error of a statement that commits itself leaves open what became of it: the connection failed,
/// or the error may be its COMMIT's.
pub(super) fn is_ambiguous_alone(error: &sqlx::Error) -> bool {
    match number(error) {
        // The COMMIT failed; or the statement was cancelled, or ran out of time.
        Some(number) => is_link(number) || matches!(number, 1180 | 1317 | 1969 | 3024),
        // A message that is too long was not sent.
        None => !matches!(error, sqlx::Error::Encode(_)),
    }
}

/// Returns whether a statement's demand was not met.
pub(super) fn is_unmet(error: &sqlx::Error) -> bool {
    number(error) == Some(OUT_OF_RANGE)
}

/// Returns whether the error is a duplicate of a unique key: of ours, if there is a record then
/// ([`super::placeholder::found_reclaimable`]).
pub(super) fn is_conflict(error: &sqlx::Error) -> bool {
    number(error) == Some(DUPLICATE)
}

/// Returns whether a statement failed, and not the connection; or a transaction that should be open is not.
pub(super) fn is_of_a_statement(error: &sqlx::Error) -> bool {
    number(error).is_some_and(|number| !is_link(number))
        || matches!(error, sqlx::Error::BeginFailed)
}

/// Returns whether the server refused to wait for a lock.
pub(super) fn is_locked(error: &sqlx::Error) -> bool {
    matches!(number(error), Some(LOCK_WAIT_TIMEOUT | LOCK_NOWAIT))
}

/// Returns whether a unit of work that has done nothing yet may begin again: a lock that may be that of another
/// key's neighbour, a deadlock, a record that has just been purged.
pub(super) fn is_momentary(error: &Error) -> bool {
    match error {
        Error::Busy(error) => {
            is_locked(error.as_sqlx())
                || is_wrong_value(error.as_sqlx())
                || matches!(error.as_sqlx(), sqlx::Error::RowNotFound)
        }
        Error::TransactionLost(_) => true,
        _ => false,
    }
}

/// Returns whether there is no such savepoint: there is no transaction, or another one.
pub(super) fn is_no_savepoint(error: &sqlx::Error) -> bool {
    number(error) == Some(NO_SAVEPOINT)
}

/// Returns whether a transaction is open where none may be.
pub(super) fn is_in_transaction(error: &sqlx::Error) -> bool {
    number(error) == Some(IN_TRANSACTION)
}

/// Returns whether the session has used LOCK TABLES, and not for this table.
pub(super) fn is_under_lock_tables(error: &sqlx::Error) -> bool {
    matches!(number(error), Some(1099 | 1100))
}

/// Returns whether there is no such table, savepoint, function or procedure.
pub(super) fn is_missing(error: &sqlx::Error) -> bool {
    is_missing_table(error) || is_no_savepoint(error)
}

/// Returns whether a variable was set to a value that it does not take.
pub(super) fn is_wrong_value(error: &sqlx::Error) -> bool {
    number(error) == Some(WRONG_VALUE)
}

/// Returns whether there is no such table, no such database, or one that can hold no tables
/// (`information_schema`).
pub(super) fn is_missing_table(error: &sqlx::Error) -> bool {
    matches!(number(error), Some(1044 | 1046 | 1049 | 1146))
}

/// Returns whether the object to create exists already.
pub(super) fn is_there(error: &sqlx::Error) -> bool {
    number(error) == Some(1050)
}

/// Returns whether the number is of too many connections, used up resources, a shutdown, a node that does not
/// serve, an aborted or killed connection, or a client that was idle too long.
fn is_link(number: u16) -> bool {
    matches!(
        number,
        1040 | 1041 | 1047 | 1053 | 1077 | 1078 | 1079 | 1152 | 1155
            ..=1161 | 1184 | 1203 | 1226 | 1927 | 3169 | 4031
    )
}

fn number(error: &sqlx::Error) -> Option<u16> {
    error
        .as_database_error()
        .and_then(|error| error.try_downcast_ref::<MySqlDatabaseError>())
        .map(MySqlDatabaseError::number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_without_a_number_fails_closed() {
        let mapped = map_error(sqlx::Error::PoolTimedOut);
        assert!(matches!(mapped, Error::Unavailable(_)));
        let mapped = map_error(sqlx::Error::BeginFailed);
        assert!(matches!(mapped, Error::TransactionEnded));
        let mapped = map_error(sqlx::Error::RowNotFound);
        assert!(matches!(mapped, Error::Database(_)));
    }

    #[test]
    fn a_commit_without_an_answer_is_ambiguous() {
        assert!(is_ambiguous(&sqlx::Error::WorkerCrashed));
    }
}
