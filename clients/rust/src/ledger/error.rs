//! Why a ledger did not do what it was asked.

use std::fmt;

use idem_messaging::outbox::{EventId, OutboxError};

use crate::key::KeyError;

/// A part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestField {
    /// The method.
    Method,
    /// The address.
    Url,
    /// The headers.
    Headers,
    /// The body.
    Body,
}

impl fmt::Display for RequestField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Method => "method",
            Self::Url => "URL",
            Self::Headers => "headers",
            Self::Body => "body",
        })
    }
}

/// Why a ledger did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The key of the request cannot be used. Nothing was written.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A part of the request is too long. Nothing was written.
    #[error(
        "the {field} of the request has {size} bytes, and at most {limit} are allowed; nothing was written; shorten it"
    )]
    TooLong {
        /// The part.
        field: RequestField,
        /// The limit in bytes.
        limit: usize,
        /// Its length in bytes.
        size: usize,
    },
    /// A part of the request is not as it must be. Nothing was written.
    #[error("the {field} of the request {rule}; nothing was written")]
    Form {
        /// The part.
        field: RequestField,
        /// What is wrong with it, and what mends it.
        rule: &'static str,
    },
    /// The ledger has a request with this key to this host. Nothing was written of the new one; the transaction can go on.
    #[error(
        "the ledger has a request with this key to this host, {id}; the new one was not written; look that one up, or give a \
         new intent a new key"
    )]
    Duplicate {
        /// The id of both.
        id: EventId,
    },
    /// The ledger has no request of this id: it was never committed, or it was purged.
    #[error(
        "the ledger has no request {id}: its transaction was not committed, or it was purged; nothing was written"
    )]
    Missing {
        /// The id.
        id: EventId,
    },
    /// The table cannot hold what the ledger promises. Nothing was written.
    #[error("the table `idem_ledger` is unfit: {}; nothing was written; run the migration", findings.join("; "))]
    Schema {
        /// What is wrong with it, in words.
        findings: Vec<String>,
    },
    /// A row holds what this build cannot read. Nothing was written.
    #[error(
        "the request {id} is not readable: {what}; nothing was written; was it written by a newer build?"
    )]
    Unreadable {
        /// The id.
        id: String,
        /// The part.
        what: &'static str,
    },
    /// The queue did not do what it was asked.
    #[error(transparent)]
    Queue(#[from] OutboxError),
    /// An error of the database. Within a transaction, nothing is known to be written until its COMMIT.
    #[error("the database of the ledger: {0}")]
    Database(#[from] sqlx::Error),
}

impl LedgerError {
    /// Returns whether the same call may succeed later, in a new transaction, with nothing changed.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Database(_) => true,
            Self::Queue(error) => error.is_retryable(),
            _ => false,
        }
    }
}
