//! Why an operator was refused.

use std::time::Duration;

use super::status::StoredStatus;
use crate::values::error::{Error, Invalid};

/// Why an operator was refused. Nothing was changed, unless the variant says otherwise.
///
/// No text shows a key, a request or a payload.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperateError {
    /// The audit table is missing, or of another version.
    #[error(
        "the table `{table}` cannot take the row that says who changed what ({found}); nothing was changed: run its migration, \
         `idem schema print`"
    )]
    AuditTable {
        /// The table.
        table: String,
        /// What was found.
        found: &'static str,
    },
    /// The record has a status from which this change is not allowed.
    #[error("the record is {status}, and {allowed}; nothing was changed")]
    WrongStatus {
        /// The status of the record.
        status: StoredStatus,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The lease is live: its attempt may be working.
    #[error(
        "the lease of the record ends within {} min, and its attempt may be at work; nothing was changed: wait until it has lapsed",
        .left.as_secs() / 60 + 1
    )]
    Live {
        /// The time to the end of the lease.
        left: Duration,
    },
    /// The operation of the record has a codec: a payload in clear would stand beside those that may not.
    #[error(
        "the payloads of the record's operation are encrypted or compressed, and a result in clear would stand beside them; nothing \
         was changed: settle it in a program with the codec (`Store::codec`, then `resolve_completed` or `resolve_failed`)"
    )]
    Protected,
    /// The record has changed since it was read: its attempt came back, another one took over, or another operator was
    /// first.
    #[error("the record has changed since it was read; nothing was changed: look at it again")]
    Changed,
    /// The scope has records that may not be forgotten.
    #[error(
        "the scope has records in progress: {in_progress}, of unknown outcome: {unknown}, of other statuses that are not final: \
         {other}; nothing was changed: wait for the first, resolve the second (`idem list --scope .. --status unknown`)"
    )]
    NotFinal {
        /// The number of records in progress.
        in_progress: u64,
        /// The number of unknown outcomes.
        unknown: u64,
        /// The number of others: claims without a record, statuses of a newer build.
        other: u64,
    },
    /// The scope is under a legal hold.
    #[error(
        "the scope is under a legal hold (`idem hold list` says whose and why); nothing was changed"
    )]
    Held,
    /// There is a hold on the scope already.
    #[error("the scope is under a legal hold already; nothing was changed")]
    AlreadyHeld,
    /// There is no hold on the scope.
    #[error("the scope is under no legal hold; nothing was changed")]
    NotHeld,
    /// There is no table of holds, or the table of records does not know of it.
    #[error(
        "there is no table `{table}`, or `{records}` does not know of it; nothing was changed: run its migration, \
         `idem schema print --only hold`"
    )]
    HoldTable {
        /// The table of the holds.
        table: String,
        /// The table of the records.
        records: String,
    },
    /// A table that the library writes to is of another version.
    #[error(
        "the table `{table}` cannot be used ({found}); nothing was changed: run its migration, `idem schema print`"
    )]
    UnfitTable {
        /// The table.
        table: String,
        /// What was found.
        found: &'static str,
    },
    /// A text is not JSON.
    #[error(
        "the {what} is not JSON: {reason}, at line {line}, column {column}; nothing was changed"
    )]
    NotJson {
        /// The text.
        what: &'static str,
        /// Why, without a part of the text.
        reason: &'static str,
        /// The line, from 1.
        line: usize,
        /// The column, from 1; 0 at the end of the text.
        column: usize,
    },
    /// A payload is longer than the limit.
    #[error("the {what} has {length} bytes, and the limit is {limit}; nothing was changed")]
    TooLarge {
        /// The payload.
        what: &'static str,
        /// Its length, in bytes.
        length: usize,
        /// The limit, in bytes.
        limit: usize,
    },
    /// A name is blank, or too long.
    #[error(
        "the {what} must have 1 to {limit} characters, and no control character; nothing was changed"
    )]
    Name {
        /// The name.
        what: &'static str,
        /// The limit, in characters.
        limit: usize,
    },
    /// A purge failed after some of its transactions were committed.
    #[error("records deleted before: {rows}, with their rows of the audit table; then: {}", without_promise(.cause))]
    Partly {
        /// How many rows were deleted before.
        rows: u64,
        /// Why the next transaction failed.
        #[source]
        cause: Box<OperateError>,
    },
    /// The library's own error. What may come of an operator's call:
    /// - [`Error::Schema`] if a table does not exist or lacks a column;
    /// - [`Error::PermissionDenied`] for a missing right; on MySQL and MariaDB, [`Error::Database`] with its code;
    /// - [`Error::Unavailable`] if the server cannot be reached, [`Error::ReadOnly`] if it is a standby;
    /// - [`Error::Busy`] if a lock was not free in time;
    /// - [`Error::UnknownState`] if a row was written by a newer build;
    /// - [`Error::CommitUnknown`] if the answer to the COMMIT of a change was lost: look again;
    /// - [`Error::AlreadyInTransaction`] if the pool's connections are left inside transactions;
    /// - [`Error::Database`] for what the server says besides.
    #[error(transparent)]
    Library(#[from] Error),
}

impl From<Invalid> for OperateError {
    fn from(invalid: Invalid) -> Self {
        Self::Library(invalid.into())
    }
}

/// The text of an error without the promise that nothing was changed, which holds for its transaction alone.
fn without_promise(cause: &OperateError) -> String {
    let text = cause.to_string();
    let text = text.replace(
        "; nothing was changed",
        "; this transaction was rolled back",
    );
    text.replace("nothing was written", "this transaction was rolled back")
}

impl OperateError {
    /// Returns this error, of a transaction that came after others which have deleted rows.
    pub(super) fn after(self, rows: u64) -> Self {
        if rows == 0 {
            return self;
        }
        let cause = Box::new(self);
        Self::Partly { rows, cause }
    }

    /// Returns the error of a table of another version.
    pub(super) fn unfit(table: &str, found: &'static str) -> Self {
        Self::UnfitTable {
            table: table.to_owned(),
            found,
        }
    }

    /// Describes an error of `serde_json` without quoting the text.
    pub(super) fn not_json(what: &'static str, error: &serde_json::Error) -> Self {
        use serde_json::error::Category;
        Self::NotJson {
            what,
            reason: match error.classify() {
                Category::Eof => "it ends too early",
                Category::Io | Category::Data | Category::Syntax => "it breaks the syntax",
            },
            line: error.line(),
            column: error.column(),
        }
    }
}
