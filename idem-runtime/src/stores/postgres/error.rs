//! SQLSTATEs, mapped to the errors that they mean. One place; never by text, which depends on the server's
//! language.

use sqlx::postgres::{PgDatabaseError, PgErrorPosition, PgSeverity};

use super::claim::{FusedFallback, NotFused};
use crate::values::error::{Error, SchemaFault};

/// What an error of one of the library's own statements means.
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
        // No transaction to set a savepoint in, or the savepoint is gone: somebody ended it.
        "25P01" | "3B001" => Error::TransactionEnded,
        "25006" => Error::ReadOnly(error.into()),
        "40001" | "40P01" => Error::TransactionLost(error.into()),
        // Lock not available, statement cancelled by a timeout.
        "55P03" | "57014" => Error::Busy(error.into()),
        _ if is_lock_table_full(&error) => Error::LockTableFull(error.into()),
        // A name that another's statement has on the server connection, behind a pooler.
        "42P05" => Error::StatementsLost(error.into()),
        _ if is_dead_statement(&error) => Error::StatementsLost(error.into()),
        // The server ended the session for having been idle in its transaction, or for the
        // transaction's length.
        "25P03" | "25P04" => Error::Unavailable(error.into()),
        code if is_link(code) || code.starts_with("53") => Error::Unavailable(error.into()),
        _ => Error::Database(error.into()),
    }
}

/// Whether the statement was refused because an earlier one has aborted the transaction.
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

/// The table is not where it was when the body began.
pub(super) fn moved(table: &str) -> Error {
    let table = table.to_owned();
    Error::TableMoved { table }
}

/// What stands for an answer that is another statement's.
pub(super) fn out_of_sync() -> sqlx::Error {
    sqlx::Error::Protocol("the answer was not that of the statement sent".into())
}

/// What an error of the statements that begin a unit of work means.
pub(super) fn begin_error(error: sqlx::Error) -> Error {
    match sqlstate(&error).as_deref() {
        // The transaction had begun before: it was aborted, or it had read as READ ONLY.
        Some("25P02" | "25001") if is_own(&error) => Error::AlreadyInTransaction,
        // `sql::begin_plain` says so.
        Some("42704") if names(&error, IN_TRANSACTION) => Error::AlreadyInTransaction,
        // A hot standby does not know READ WRITE.
        Some("0A000") => Error::ReadOnly(error.into()),
        _ => map_error(error),
    }
}

/// Why the first message of the fused path raised.
pub(super) fn fused_fallback(error: sqlx::Error) -> NotFused {
    match raised(&error).as_deref() {
        Some("22P02") => NotFused::Again(FusedFallback::Recorded),
        Some("22007") => NotFused::Again(FusedFallback::InFlight),
        Some("26000" | "3F000") => NotFused::Again(FusedFallback::Unprepared),
        // The transaction had begun before.
        None => NotFused::Failed(begin_error(error)),
        Some("25001" | "25P02") if is_own(&error) => NotFused::Failed(begin_error(error)),
        Some("42704") if names(&error, IN_TRANSACTION) => NotFused::Failed(begin_error(error)),
        Some(_) => NotFused::Again(FusedFallback::Unfit),
    }
}

/// Returns whether the record's statement is gone from this connection, or the table no longer bears it (a
/// rule). The claim's statement is still there, and would not tell.
pub(super) fn is_record_statement_lost(error: &sqlx::Error) -> bool {
    matches!(raised(error).as_deref(), Some("26000" | "0A000"))
}

/// Why the fused path did not write the record.
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

/// What an error of COMMIT means that is no question of whether it was done.
pub(super) fn commit_error(error: sqlx::Error) -> Error {
    match map_error(error) {
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

/// A duplicate that a library's INSERT has met itself: of the record's primary key, in the record's own
/// table or in one of its partitions. The detail names the columns, the same in every language.
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

/// Whether it may be one of those, in a table of another name: a partition, where row security keeps the
/// detail back. The record tells, if there is one now.
pub(super) fn may_be_our_conflict(error: &sqlx::Error) -> bool {
    is_own_conflict(error) && database_error(error).is_some_and(|error| error.detail().is_none())
}

/// A unique violation, and not one of a table that a trigger writes.
fn is_own_conflict(error: &sqlx::Error) -> bool {
    is_own(error) && sqlstate(error).is_some_and(|code| code == "23505")
}

/// Whether these are the columns of the index that arbitrates, which may have them in any order.
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

/// No such table, or no such schema, in the library's own text.
pub(super) fn is_missing_table(error: &sqlx::Error) -> bool {
    is_own(error) && sqlstate(error).is_some_and(|code| code == "42P01" || code == "3F000")
}

/// No such column, likewise.
pub(super) fn is_missing_column(error: &sqlx::Error) -> bool {
    is_own(error) && sqlstate(error).is_some_and(|code| code == "42703")
}

/// The role may not do it, with the record's table or its schema.
fn is_missing_grant(error: &sqlx::Error, table: &str) -> bool {
    is_own(error)
        && sqlstate(error).is_some_and(|code| code == "42501")
        && table.split('.').any(|name| names(error, name))
}

/// The server does not know a prepared statement that the driver keeps, no longer runs it (the type of a
/// column that it returns has changed), or knows another's of that name, which takes other values (behind a
/// pooler). The last two have no SQLSTATE of their own; the place in the server's source, which its language
/// does not change, tells them from what the server cannot do at all, and from a protocol that is broken.
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

/// The table of locks that all sessions share has no room. SQLSTATE 53200 says no more than that some
/// memory is used up; the hint names the setting, in whatever language.
fn is_lock_table_full(error: &sqlx::Error) -> bool {
    database_error(error).is_some_and(|error| {
        error.code() == "53200"
            && error
                .hint()
                .is_some_and(|hint| hint.contains("locks_per_transaction"))
    })
}

/// Whether a statement of the library's raised this itself, and not a function that it called: a
/// trigger, a policy, a default.
pub(super) fn is_own(error: &sqlx::Error) -> bool {
    database_error(error).is_some_and(|error| match error.position() {
        Some(PgErrorPosition::Original(_)) => true,
        Some(PgErrorPosition::Internal { .. }) => false,
        None => error.r#where().is_none(),
    })
}

/// Whether the error's message has this name in it. Names are the same in every language; nothing else
/// of a message is looked at.
pub(super) fn names(error: &sqlx::Error, name: &str) -> bool {
    database_error(error).is_some_and(|error| error.message().contains(name))
}

/// Settings that do not exist. Statements that may not go on ask for one: what the server says then
/// cannot be taken for an error of a trigger or a policy.
pub(super) const IN_TRANSACTION: &str = "idem.is_in_a_transaction_already";
pub(super) const CLAIM_GONE: &str = "idem.claim_is_gone";
pub(super) const TABLE_MOVED: &str = "idem.table_has_moved";
pub(super) const NOT_WRITTEN: &str = "idem.record_is_not_written";

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
