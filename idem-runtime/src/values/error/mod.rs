//! One error type for everything the library refuses or cannot do.
//!
//! Every error says what happened, whether anything was written, and what to do. `Display` and `Debug`
//! of an error and of its source never show a key, a request, a result or a failure. Some fields hold
//! one; their documentation says so.
//!
//! No decision depends on the text of a database's message: the stores map the vendors' codes.

mod codec;
mod database;
mod incompatible;
mod invalid;
mod kind;
mod logged;
mod mismatch;
mod schema;
mod transient;

use std::borrow::Cow;
use std::time::Duration;

use uuid::Uuid;

pub use self::codec::CodecFault;
pub use self::database::DatabaseError;
#[cfg(feature = "mysql")]
pub(crate) use self::database::{MessageTooLong, Silence};
pub use self::incompatible::RecordedVersion;
pub(crate) use self::invalid::MAP_KEY;
pub use self::invalid::{Field, Invalid, Reason};
pub use self::kind::ErrorKind;
pub use self::mismatch::Mismatch;
pub use self::schema::{SchemaFault, SchemaFinding};
pub use self::transient::is_transient;
use crate::values::failure::StoredFailure;

/// Everything the library refuses or cannot do.
///
/// A handler's own error type converts it by `From<Error>`; with thiserror:
/// `#[error(transparent)] Idempotency(#[from] idem_runtime::Error)`.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A key, a scope, a name or a compared value is not acceptable. Nothing was written.
    #[error(transparent)]
    Invalid(#[from] Invalid),

    /// The operation requires a key and the call has none. Nothing was written.
    #[error("operation `{operation}` requires an idempotency key and the call has none")]
    KeyMissing {
        /// The operation called.
        operation: Cow<'static, str>,
    },

    /// The key has no scope.
    ///
    /// A key chosen by a client must be read inside the scope of that client (a tenant or a
    /// principal, never an anonymous stand-in). Otherwise one client could get another client's
    /// result. Nothing was written.
    #[error(
        "the key of operation `{operation}` has no scope; nothing was written: set the tenant or principal with `key.scoped(..)` or `scope = ..`, or share the key among all callers with `key.global()`"
    )]
    ScopeMissing {
        /// The operation called.
        operation: Cow<'static, str>,
    },

    /// Another attempt with this key is running. The IETF draft's 409. Nothing was written.
    #[error("another attempt with this idempotency key is in flight")]
    InFlight {
        /// When to try again.
        retry_after: Duration,
        /// The text of the key in flight, if known. A handler that calls another one may answer with the error of that call's key.
        key: Option<Box<str>>,
    },

    /// The key was used before, with another request or on another operation. The IETF draft's 422.
    #[error(transparent)]
    Mismatch(Box<Mismatch>),

    /// An earlier attempt failed permanently and its failure is recorded, but this handler's error
    /// type cannot represent it: the operation has stopped recording failures since.
    #[error(
        "an earlier attempt failed permanently, with a failure of class `{}`, which this handler's error type cannot represent (the field holds its message)",
        .0.class
    )]
    RecordedFailure(Box<StoredFailure>),

    /// The lease of an earlier attempt lapsed, and it is unknown whether the attempt's effect happened.
    /// The outcome must be settled by hand ([`Bound::look_up`](crate::stores::Bound::look_up) finds it).
    #[error(
        "the outcome of attempt {attempt_id} at operation `{operation}` is unknown and waits for reconciliation"
    )]
    OutcomeUnknown {
        /// The operation of the attempt.
        operation: String,
        /// The id of the attempt; its record holds it.
        attempt_id: Uuid,
        /// The number of the attempt, from 1.
        attempt: i32,
    },

    /// Another attempt has taken over the lease, or the outcome was settled in the meantime. This
    /// attempt's result was not written.
    ///
    /// Its effect outside the database may have happened. A retry with the same key gets the outcome
    /// of the key.
    #[error("the lease on this idempotency key was lost")]
    LeaseLost,

    /// A lease was requested or ended inside a transaction, whose rollback could undo it. Nothing was written.
    #[error(
        "a lease cannot be claimed or ended inside a transaction; nothing was written: use a connection without an open one"
    )]
    LeaseInTransaction,

    /// The limit of concurrent leased runs is reached: that of
    /// [`set_max_concurrent`](crate::calls::lease::set_max_concurrent) in this process, or that of a layer.
    /// Nothing was claimed.
    #[error(
        "the limit of {limit} concurrent leased runs is reached; nothing was written: try again with the same key"
    )]
    TooManyRuns {
        /// The limit.
        limit: usize,
        /// When to try again.
        retry_after: Duration,
    },

    /// A handler called a handler with the same identity (namespace, scope and key) in the same transaction.
    #[error(
        "an idempotent handler called another with the same namespace, scope and key: give the inner call `key.child(\"…\")`"
    )]
    NestedSameKey,

    /// The connection was inside a transaction that sqlx does not know of.
    ///
    /// On PostgreSQL and MySQL that transaction has been rolled back. PostgreSQL only warns about a BEGIN
    /// inside a transaction, so it is detected late; on MySQL the transaction may be a leftover of a
    /// dropped call. On SQLite the transaction is unchanged.
    #[error(
        "the connection was already inside a transaction begun outside sqlx: pass the `Transaction` itself"
    )]
    AlreadyInTransaction,

    /// A store that needs an open transaction was bound to a connection without one.
    #[error("the connection has no open transaction")]
    NotInTransaction,

    /// The body ended the transaction. Nothing was recorded.
    ///
    /// The writes that the body committed itself remain, without a record: a retry runs the body
    /// again. The transaction that was open afterwards was rolled back.
    #[error(
        "the body ended the library's transaction (COMMIT, ROLLBACK, PREPARE) or reset its settings; nothing was recorded, but writes that the body committed remain: remove the statement from the body, and check the effect before a retry"
    )]
    TransactionEnded,

    /// On PostgreSQL: the body made the record's table unreachable by `search_path`, by a role that does not
    /// see its schema, by a temporary table of its name, by DROP or RENAME. Nothing was recorded, and the
    /// transaction was rolled back. The other databases do not return it.
    ///
    /// If the body has also ended its transaction, the call returns [`Error::TransactionEnded`] instead,
    /// unless this cannot be detected: the body began another transaction, and the unit of work is the
    /// caller's, or that of a pool with `idem.fused=off` or without prepared statements. What such a body has
    /// committed remains.
    #[error(
        "the body made the record's table `{table}` unreachable (`search_path`, a role, a temporary table, DROP or RENAME): nothing was recorded, and the transaction was rolled back, except for what the body committed itself; {}",
        by_schema(table)
    )]
    TableMoved {
        /// The table, as the operation names it.
        table: String,
    },

    /// The database role lacks a privilege on the record's table. Either it was never granted, or the body
    /// switched to a role without it (`SET ROLE`), or a row security policy forbids it. Nothing was recorded,
    /// and the transaction was rolled back.
    #[error(
        "the database role lacks {privilege} on the record's table `{table}`; nothing was recorded, and the transaction was rolled back: grant it (`GRANT {privilege} ON {table} TO ..`), switch the role back in the body, or add a policy if row security forbids it"
    )]
    PermissionDenied {
        /// The table, as the operation names it.
        table: String,
        /// The missing privilege.
        privilege: &'static str,
        /// The database's error.
        source: DatabaseError,
    },

    /// The body, or the caller before a joined call, left a statement unfinished, and the connection is out
    /// of step: a COPY was neither finished nor aborted, its stream was not read to its end, or the server
    /// refused it; on MySQL, a query was dropped while the driver prepared it. Nothing was recorded, and
    /// nothing of this call remains when the connection is closed.
    ///
    /// A connection of a pool is closed. The session of a caller's own connection is ended, and its
    /// transaction with it, if the driver still sends statements. On MySQL the driver may wait for an answer
    /// that never comes, and so may every later statement: close (drop) that connection. If the call itself got no
    /// answer, it is [`Error::Unavailable`]: a silent link looks the same.
    #[error(
    "a statement was left unfinished ({}), so the connection is out of step; nothing was recorded, and the transaction is rolled back when the connection closes: close a connection of your own (a pool's is closed already), as its next statement may wait for ever; in the body, end each COPY with `finish` or `abort`, read its stream to the end, and on MySQL drop no query before it is answered",
        .0.cause()
    )]
    StatementUnfinished(#[source] DatabaseError),

    /// A statement failed and aborted the transaction, and its error was ignored: by the body, which
    /// then returned `Ok`, or by the caller before a joined call. Nothing of this call remains.
    #[error(
        "a statement failed and aborted the transaction, and its error was ignored; nothing was written: return that error"
    )]
    TransactionAborted,

    /// The database rolled back this transaction because of another one (deadlock, serialization
    /// failure). All of it was rolled back, including the caller's part; try again with the same
    /// key.
    #[error(
        "the database rolled back the transaction (deadlock or serialization failure); nothing was written: try again with the same key"
    )]
    TransactionLost(#[source] DatabaseError),

    /// The transaction reads an older snapshot than is needed. On PostgreSQL, the snapshot is too old to
    /// show the record of the attempt that won. On SQLite, another connection has written since the
    /// transaction began to read, so it cannot write. Nothing of this call remains; try again in a new
    /// transaction. On SQLite, begin the caller's transaction with `begin_with("BEGIN IMMEDIATE")`.
    #[error(
        "another connection has written since this transaction began to read; nothing was written: try again in a new transaction (on SQLite, one begun with BEGIN IMMEDIATE)"
    )]
    FreshTransactionNeeded,

    /// The database reports that a record for this key exists but does not show it (typically because of row
    /// security). Everything was rolled back.
    ///
    /// Rarely, the record is simply gone: another attempt's record, expired, was purged between the INSERT
    /// that conflicted with it and the look-up that followed. A retry tells the two cases apart, and is
    /// safe.
    #[error(
        "a record for this key exists but cannot be read (row security, or a trigger that moves records?); everything was rolled back"
    )]
    RecordInvisible,

    /// The record's INSERT reported no row although nothing conflicted with it (typically because a trigger
    /// returns NULL).
    #[error(
        "the database accepted the record but did not write it (a trigger on the table?); nothing was recorded"
    )]
    RecordNotWritten,

    /// COMMIT was refused and everything was rolled back (typically because of a deferred constraint).
    #[error("COMMIT failed and the transaction was rolled back; nothing was written")]
    CommitFailed(#[source] DatabaseError),

    /// The answer to COMMIT was lost and its outcome could not be determined; or the end of a leased body
    /// could not be recorded, because the database was unreachable for too long. A retry with the same
    /// key is safe.
    #[error(
        "the answer to COMMIT was lost, and whether it took effect could not be determined: retry with the same idempotency key"
    )]
    CommitUnknown(#[source] DatabaseError),

    /// The database is reachable but busy with other writers. Nothing was written.
    #[error(
        "the database is busy with other writers ({}); nothing was written: try again with the same key",
        .0.cause()
    )]
    Busy(#[source] DatabaseError),

    /// The server no longer knows a prepared statement of this connection (`DISCARD ALL`, `DEALLOCATE ALL`),
    /// no longer runs it (the type of a column changed), or has another client's statement under its name (a
    /// pooler in transaction mode). Nothing was written; the connection prepares its statements again.
    #[error(
        "the connection has lost its prepared statements ({}); nothing was written: try again with the same key, and behind a pooler in transaction mode switch them off (`statement_cache_capacity(0)`)",
        .0.cause()
    )]
    StatementsLost(#[source] DatabaseError),

    /// The lock table that all sessions of the server share is full, typically because one transaction holds
    /// too many locks: each key, each table and each partition takes one. Nothing was written.
    #[error(
        "the server's lock table is full ({}); nothing was written: use fewer keys and tables in one transaction, or raise `max_locks_per_transaction`, and try again with the same key",
        .0.cause()
    )]
    LockTableFull(#[source] DatabaseError),

    /// The server accepts no writes (a hot standby, a read-only database). Nothing was written.
    #[error("the server is read-only; nothing was written: point the pool at the primary")]
    ReadOnly(#[source] DatabaseError),

    /// The database cannot be reached. The body did not run, or its writes were rolled back.
    #[error(
        "no connection to the idempotency store ({}); the body did not run or was rolled back: try again with the same key",
        .0.cause()
    )]
    Unavailable(#[source] DatabaseError),

    /// Any other database error in one of the library's own statements.
    #[error("the idempotency store failed")]
    Database(#[source] DatabaseError),

    /// A stored payload does not decode into the type that this build expects, or has a version that this build does
    /// not read. The body does not run.
    ///
    /// If the version is newer than this build's, the call is [retryable](Error::is_retryable): while a deploy is under
    /// way, a retry may reach a newer node.
    #[error("{}", incompatible::text(operation, type_name, message, *version))]
    IncompatibleState {
        /// The operation that recorded it.
        operation: String,
        /// The Rust type expected.
        type_name: &'static str,
        /// The path in the payload at which decoding stopped, including the keys of maps.
        path: String,
        /// The decoder's message, which may quote the payload.
        message: String,
        /// The version of the payload, and those that this build reads. `None` if it has this build's own version.
        version: Option<RecordedVersion>,
    },

    /// A result or a permanent failure cannot be recorded: it cannot be encoded, or its JSON decodes to
    /// a different value, so that a replay would fail or differ. Everything was rolled back; in lease
    /// mode, where the effect cannot be rolled back, the outcome is unknown.
    #[error(
        "the result or failure of operation `{operation}`, a `{type_name}`, cannot be recorded: {reason}; nothing was recorded: the field `message` of this error may say more"
    )]
    NotStorable {
        /// The operation called.
        operation: String,
        /// The Rust type of the result, or of the error.
        type_name: &'static str,
        /// The reason, in the library's own words.
        reason: &'static str,
        /// The reason with the message of the encoder or the decoder, which may quote the value.
        message: String,
    },

    /// A result or a permanent failure is longer than the operation records: `result_limit` of the attribute,
    /// 1 MiB by default. A retry has the same end, until less is returned or the limit is raised.
    ///
    /// In atomic mode everything was rolled back before COMMIT, and a retry runs the body again. In lease mode
    /// the effect has happened and cannot be rolled back: the outcome is unknown, and no retry runs the body. On
    /// the plain store, nothing was written: roll the transaction back, or settle the lease otherwise.
    #[error(
        "the {what} of operation `{operation}` has {size} bytes of JSON, over the limit of {limit}; nothing was recorded: the transaction was rolled back, or, in lease mode, the effect has happened and the outcome is unknown; record less (an id in place of the whole), or raise `result_limit`"
    )]
    TooLargeToRecord {
        /// The operation called.
        operation: String,
        /// `result` or `failure`.
        what: &'static str,
        /// The bytes of its JSON.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },

    /// A record holds a code that this build does not know. It is never treated as an absent record.
    #[error("the record's {what} is {value}, which this build does not know")]
    UnknownState {
        /// The column.
        what: &'static str,
        /// The code found.
        value: i64,
    },

    /// The archive of a purge has not taken a batch: the program's own function has returned this error, or the table has
    /// taken fewer rows than it was sent. Nothing of the batch was deleted, and the next sweep begins with it.
    ///
    /// The text and the source are the program's own.
    #[error(
        "the archive has not taken a batch of the purge ({0}); nothing of the batch was deleted"
    )]
    Archive(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The operation's codec has no keys, or does not open the record. The body did not run, or was rolled back.
    #[error(transparent)]
    Codec(#[from] CodecFault),

    /// The record's table cannot arbitrate between competing attempts.
    #[error(transparent)]
    Schema(#[from] SchemaFault),
}

/// Returns advice that makes a table reachable under any `search_path`.
fn by_schema(table: &str) -> Cow<'static, str> {
    if table.contains('.') {
        "do not move or hide it".into()
    } else {
        format!("name it with its schema (`table = \"schema.{table}\"`), or do not move or hide it")
            .into()
    }
}

/// Describes a path in a payload.
pub(crate) fn json_path(path: &str) -> Cow<'static, str> {
    match path {
        "." => "at its root".into(),
        path => format!("at `{path}`").into(),
    }
}

#[cfg(test)]
mod tests;
