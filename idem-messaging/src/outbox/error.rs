//! Why an outbox did not do what it was asked.

use super::event::{EventError, EventId};

/// Why an outbox did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutboxError {
    /// The event is not as it must be.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The outbox has an event of this id. The event was not written; the transaction can go on.
    #[error(
        "the outbox has an event with the id {id}; this one was not written; give each event of one call a label of its \
         own (the other reason: the key was used again after its record was purged, while its first event is still there)"
    )]
    Duplicate {
        /// The id of both.
        id: EventId,
    },
    /// The transaction was ended by a raw `COMMIT` or `ROLLBACK`, so that the event would have stood alone. It was not
    /// written.
    #[error(
        "the transaction that the event was to be appended to was ended by a raw COMMIT or ROLLBACK; the event was not \
         written; return the error, and leave the end of the transaction to whoever began it"
    )]
    NoTransaction,
    /// `append_ordered` was called with an event that has no partition key. Nothing was written.
    #[error(
        "an event without a partition key has no order to keep; nothing was written; set a partition key, or call append"
    )]
    NoPartitionKey,
    /// The name of a table is not `[schema.]name`, each `[a-z_][a-z0-9_]*` and at most 48 bytes. Nothing was written.
    #[error(
        "`{table}` is not a name of a table ([schema.]name, each of a-z 0-9 _, at most 48 bytes, no digit first); nothing \
         was written; choose another name"
    )]
    Table {
        /// The name.
        table: String,
    },
    /// The table cannot hold what the outbox promises. Nothing was written.
    #[error("the table `{table}` is unfit for an outbox: {}; nothing was written; run the migration", findings.join("; "))]
    Schema {
        /// The table.
        table: String,
        /// What is wrong with it, in words.
        findings: Vec<String>,
    },
    /// An error of the database. Within a transaction, nothing is known to be written until its COMMIT.
    #[error("the database of the outbox: {0}")]
    Database(#[from] sqlx::Error),
}

impl OutboxError {
    /// Returns whether the same call may succeed later, in a new transaction, with nothing changed.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Database(_))
    }

    /// Returns whether the database has undone the transaction, for another one's sake: a deadlock, or a conflict of
    /// two snapshots.
    pub(crate) fn is_undone(&self) -> bool {
        let Self::Database(error) = self else {
            return false;
        };
        let code = error
            .as_database_error()
            .and_then(sqlx::error::DatabaseError::code);
        code.is_some_and(|code| ["40001", "40P01"].contains(&&*code))
    }
}
