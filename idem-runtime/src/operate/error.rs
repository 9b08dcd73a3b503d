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
    /// The library's own error, of the database for example.
    #[error(transparent)]
    Library(#[from] Error),
}

impl From<Invalid> for OperateError {
    fn from(invalid: Invalid) -> Self {
        Self::Library(invalid.into())
    }
}

impl OperateError {
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
