//! Maps SQLSTATEs to the errors that they mean. One place; never by text, which depends on the server's
//! language.

use sqlx::postgres::{PgDatabaseError, PgErrorPosition, PgSeverity};

use super::claim::{FusedFallback, NotFused};
use crate::decision::Lookup;
use crate::values::error::{Error, SchemaFault};

/// Maps an error of one of the library's own statements.
pub(super) fn map_error(error: sqlx::Error) -> Error {
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
        // There is no transaction to set a savepoint in, or the savepoint is gone: the transaction was ended.
        "25P01" | "3B001" => Error::TransactionEnded,
        "25006" => Error::ReadOnly(error.into()),
        "40001" | "40P01" => Error::TransactionLost(error.into()),
        // The lock is not available, or a timeout has cancelled the statement.
        "55P03" | "57014" => Error::Busy(error.into()),
        _ if is_lock_table_full(&error) => Error::LockTableFull(error.into()),
        // Behind a pooler, another client's statement has the name on the server connection.
        "42P05" => Error::StatementsLost(error.into()),
        _ if is_dead_statement(&error) => Error::StatementsLost(error.into()),
        // The server ended the session because it was idle in its transaction, or because of the transaction's
        // length.
        "25P03" | "25P04" => Error::Unavailable(error.into()),
        code if is_link(code) || code.starts_with("53") => Error::Unavailable(error.into()),
        _ => Error::Database(error.into()),
    }
}

/// Returns whether the statement was refused because an earlier one has aborted the transaction.
pub(super) fn is_aborted(error: &sqlx::Error) -> bool {
    raised(error).as_deref() == Some("25P02")
}

/// As [`map_error`], for a statement that reads or writes the record's table, and needs this privilege on it.
pub(super) fn table_error(error: sqlx::Error, table: &str, privilege: &'static str) -> Error {
    if is_missing_grant(&error, table) {
        return Error::PermissionDenied {
            table: table.to_owned(),
            privilege,
            source: error.into(),
        };
    }
    let name = || table.to_owned();
    if is_missing_table(&error) {
        SchemaFault::TableMissing { table: name() }.into()
    } else if is_missing_column(&error) {
        SchemaFault::Columns { table: name() }.into()
    } else {
        map_error(error)
    }
}

/// As [`table_error`], for a purge.
pub(super) fn purge_error(error: sqlx::Error, table: &str) -> Error {
    if raised(&error).as_deref() == Some("25001") {
        // A transaction that sqlx does not know of has read as READ ONLY.
        Error::ReadOnly(error.into())
    } else {
        table_error(error, table, "SELECT, UPDATE, DELETE")
    }
}

/// As [`table_error`], for the record: the table was there when the body began.
pub(super) fn write_error(error: sqlx::Error, table: &str, privilege: &'static str) -> Error {
    if is_missing_table(&error) {
        moved(table)
    } else {
        table_error(error, table, privilege)
    }
}

/// Returns the error for a table that is not where it was when the body began.
pub(super) fn moved(table: &str) -> Error {
    let table = table.to_owned();
    Error::TableMoved { table }
}

/// Returns the error that stands for another statement's answer.
pub(super) fn out_of_sync() -> sqlx::Error {
    sqlx::Error::Protocol("the answer was not that of the statement sent".into())
}

/// Maps an error of the statements that begin a unit of work.
pub(super) fn begin_error(error: sqlx::Error) -> Error {
    match sqlstate(&error).as_deref() {
        // The transaction had begun before: it was aborted, or it had read as READ ONLY.
        Some("25P02" | "25001") if is_own(&error) => Error::AlreadyInTransaction,
        // Raised by `sql::begin_plain`.
        Some("42704") if names(&error, IN_TRANSACTION) => Error::AlreadyInTransaction,
        // A hot standby does not know READ WRITE.
        Some("0A000") => Error::ReadOnly(error.into()),
        _ => map_error(error),
    }
}

/// Returns why the first message of the fused path raised. `decode` reads the record that the migration's function
/// raises.
pub(super) fn fused_fallback(
    error: sqlx::Error,
    decode: impl FnOnce(&str) -> Option<Lookup>,
) -> NotFused {
    match raised(&error).as_deref() {
        Some("22P02") => NotFused::Again(FusedFallback::Recorded),
        // The function writes nothing of a large record.
        Some("ID004") => {
            let shown = database_error(&error).and_then(PgDatabaseError::constraint);
            NotFused::Again(match shown.and_then(decode) {
                Some(lookup) => FusedFallback::Raised(Box::new(lookup)),
                None => FusedFallback::Recorded,
            })
        }
        Some("22007") => NotFused::Again(FusedFallback::InFlight),
        // The last two: the function is gone, or this role may no longer execute it.
        Some("26000" | "3F000" | "42883" | "42501") => NotFused::Again(FusedFallback::Unprepared),
        // The transaction had begun before.
        None => NotFused::Failed(begin_error(error)),
        Some("25001" | "25P02") if is_own(&error) => NotFused::Failed(begin_error(error)),
        Some("42704") if names(&error, IN_TRANSACTION) => NotFused::Failed(begin_error(error)),
        Some(_) => NotFused::Again(FusedFallback::Unfit),
    }
}

/// Returns whether the record's statement is gone from this connection, or no longer allowed on the table (a
/// rule). The claim's statement is still there, and would not show it.
pub(super) fn is_record_statement_lost(error: &sqlx::Error) -> bool {
    matches!(raised(error).as_deref(), Some("26000" | "0A000"))
}

/// Returns why the fused path did not write the record.
pub(super) fn fused_write_error(error: sqlx::Error, table: &str) -> Error {
    if raised(&error).as_deref() == Some("42704") {
        if names(&error, CLAIM_GONE) {
            return Error::TransactionEnded;
        }
        if names(&error, TABLE_MOVED) {
            return moved(table);
        }
        if names(&error, NOT_WRITTEN) {
            return Error::RecordNotWritten;
        }
    }
    write_error(error, table, "INSERT")
}

/// Maps an error of COMMIT that leaves no doubt whether it was done.
pub(super) fn commit_error(error: sqlx::Error) -> Error {
    match map_error(error) {
        Error::Database(error) => Error::CommitFailed(error),
        other => other,
    }
}

/// Returns the SQLSTATE of a statement that raised and did not end its session.
pub(super) fn raised(error: &sqlx::Error) -> Option<String> {
    sqlstate(error).filter(|_| !is_ambiguous(error))
}

/// Returns whether the server has sent this error: the connection was not lost before it.
pub(super) fn is_servers(error: &sqlx::Error) -> bool {
    database_error(error).is_some()
}

/// Returns whether an error at COMMIT leaves open what became of it: a lost connection; a terminated backend
/// (one that waited for a synchronous standby *had* committed); the SQLSTATE by which the server says so; or an
/// error that ended the session, whatever its code. The server may have panicked (a full disk, 53100) before it
/// wrote COMMIT or after.
pub(super) fn is_ambiguous(error: &sqlx::Error) -> bool {
    database_error(error).is_none_or(|error| {
        is_link(error.code())
            || error.code() == "40003"
            || matches!(error.severity(), PgSeverity::Fatal | PgSeverity::Panic)
    })
}

/// Returns whether an error of COMMIT AND CHAIN may come from after the COMMIT: the begin of the next
/// transaction can run out of a resource (class 53), or be cancelled.
pub(super) fn may_follow_commit(error: &sqlx::Error) -> bool {
    sqlstate(error).is_some_and(|code| code.starts_with("53") || code == "57014")
}

/// Returns whether an INSERT of the library itself has met a duplicate: of the record's primary key, in the
/// record's own table or in one of its partitions. The detail names the columns, the same in every language.
pub(super) fn is_our_conflict(error: &sqlx::Error, table: &str) -> bool {
    let Some(found) = database_error(error).filter(|_| is_own_conflict(error)) else {
        return false;
    };
    let (schema, name) = table
        .rsplit_once('.')
        .map_or((None, table), |(schema, name)| (Some(schema), name));
    found.detail().map_or_else(
        || {
            found.table() == Some(name)
                && schema.is_none_or(|schema| found.schema() == Some(schema))
        },
        is_of_arbiter,
    )
}

/// Returns whether the error may be such a duplicate in a table of another name: a partition, where row
/// security withholds the detail. It was one if there is a record now.
pub(super) fn may_be_our_conflict(error: &sqlx::Error) -> bool {
    is_own_conflict(error) && database_error(error).is_some_and(|error| error.detail().is_none())
}

/// Returns whether the error is a unique violation, and not one of a table that a trigger writes.
fn is_own_conflict(error: &sqlx::Error) -> bool {
    is_own(error) && sqlstate(error).is_some_and(|code| code == "23505")
}

/// Returns whether these are the columns of the index that arbitrates, which may have them in any order.
fn is_of_arbiter(detail: &str) -> bool {
    let columns = detail
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(")=("));
    columns.is_some_and(|(columns, _)| {
        let mut columns: Vec<_> = columns.split(", ").collect();
        columns.sort_unstable();
        columns == ["key", "namespace", "scope"]
    })
}

/// Returns whether the library's own text names no existing table, or no existing schema.
pub(super) fn is_missing_table(error: &sqlx::Error) -> bool {
    is_own(error) && sqlstate(error).is_some_and(|code| code == "42P01" || code == "3F000")
}

/// Returns whether the library's own text names no existing column.
pub(super) fn is_missing_column(error: &sqlx::Error) -> bool {
    is_own(error) && sqlstate(error).is_some_and(|code| code == "42703")
}

/// Returns whether the role lacks a privilege on the record's table or its schema.
fn is_missing_grant(error: &sqlx::Error, table: &str) -> bool {
    is_own(error)
        && sqlstate(error).is_some_and(|code| code == "42501")
        && table.split('.').any(|name| names(error, name))
}

/// Returns whether the server does not know a prepared statement that the driver keeps, no longer runs it (the
/// type of a column that it returns has changed), or knows another client's of that name, which takes other
/// values (behind a pooler). The last two have no SQLSTATE of their own. The place in the server's source,
/// which its language does not change, tells them from features that the server does not support and from a
/// broken protocol.
pub(super) fn is_dead_statement(error: &sqlx::Error) -> bool {
    database_error(error).is_some_and(|error| match error.code() {
        "26000" => true,
        "0A000" => error.routine() == Some("RevalidateCachedQuery"),
        "08P01" | "22P03" => matches!(
            error.routine(),
            Some("exec_bind_message" | "pq_copymsgbytes")
        ),
        _ => false,
    })
}

/// Returns whether the table of locks that all sessions share is full. SQLSTATE 53200 says only that some
/// memory is used up; the hint names the setting, in any language.
fn is_lock_table_full(error: &sqlx::Error) -> bool {
    database_error(error).is_some_and(|error| {
        error.code() == "53200"
            && error
                .hint()
                .is_some_and(|hint| hint.contains("locks_per_transaction"))
    })
}

/// Returns whether a statement of the library raised this itself, and not a function that it called: a trigger,
/// a policy, a default.
pub(super) fn is_own(error: &sqlx::Error) -> bool {
    database_error(error).is_some_and(|error| match error.position() {
        Some(PgErrorPosition::Original(_)) => true,
        Some(PgErrorPosition::Internal { .. }) => false,
        None => error.r#where().is_none(),
    })
}

/// Returns whether the error's message contains this name. Names are the same in every language; nothing else
/// of a message is read.
pub(super) fn names(error: &sqlx::Error, name: &str) -> bool {
    database_error(error).is_some_and(|error| error.message().contains(name))
}

/// Settings that do not exist. A statement that must not go on reads one: the server's error cannot then be
/// taken for an error of a trigger or a policy.
pub(super) const IN_TRANSACTION: &str = "idem.is_in_a_transaction_already";
pub(super) const CLAIM_GONE: &str = "idem.claim_is_gone";
pub(super) const TABLE_MOVED: &str = "idem.table_has_moved";
pub(super) const NOT_WRITTEN: &str = "idem.record_is_not_written";

/// Returns whether the code is of class 08 (connection) or a shutdown of class 57P.
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
