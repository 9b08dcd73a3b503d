//! One error type for everything the library refuses or cannot do.
//!
//! Every value says what happened, what was lost (nothing, wherever that is so) and what to do. No text
//! of one, by `Display` or `Debug`, its own or that of its source, shows a key, a request, a result or a
//! failure; fields may hold one, and say so.
//! Nothing here is decided by the text of a database's message: vendors' codes are mapped in the
//! stores.

mod database;
mod invalid;
mod kind;
mod logged;
mod mismatch;
mod schema;

use std::borrow::Cow;
use std::time::Duration;

use uuid::Uuid;

pub use self::database::DatabaseError;
pub(crate) use self::invalid::MAP_KEY;
pub use self::invalid::{Field, Invalid, Reason};
pub use self::kind::ErrorKind;
pub use self::mismatch::Mismatch;
pub use self::schema::{SchemaFault, SchemaFinding};
use crate::values::failure::StoredFailure;

/// What the library refuses or cannot do.
///
/// A handler's own error type takes it in by `From<Error>`; with thiserror:
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

    /// The key says neither whose it is nor that it is everybody's.
    ///
    /// A key that a client chose must be read inside the scope of that client (a tenant or a
    /// principal, never an anonymous stand-in): otherwise one client could be answered with
    /// another's result.
    #[error(
        "the key of operation `{operation}` has no scope: say whose it is with `key.scoped(..)` or `scope = ..`, or that it is everybody's with `key.global()`"
    )]
    ScopeMissing {
        /// The operation called.
        operation: Cow<'static, str>,
    },

    /// Another attempt with this key is running. The IETF draft's 409.
    #[error("another attempt with this idempotency key is in flight")]
    InFlight {
        /// When to try again.
        retry_after: Duration,
    },

    /// The key was used before, with another request or on another operation. The IETF draft's 422.
    #[error(transparent)]
    Mismatch(Box<Mismatch>),

    /// An earlier attempt failed for good, was recorded, and this handler's error type cannot carry
    /// it: the operation has stopped recording failures since.
    #[error(
        "an earlier attempt failed for good, with a failure of class `{}`, and this handler's error type cannot carry it (the field holds its message)",
        .0.class
    )]
    RecordedFailure(Box<StoredFailure>),

    /// An earlier attempt lapsed and nobody knows whether its effect happened; it waits for
    /// reconciliation ([`Bound::look_up`](crate::stores::Bound::look_up) finds it).
    #[error(
        "the outcome of attempt {attempt_id} at operation `{operation}` is unknown and waits for reconciliation"
    )]
    OutcomeUnknown {
        /// The operation that the attempt was at.
        operation: String,
        /// Names the attempt; its record carries it.
        attempt_id: Uuid,
        /// Which attempt of the key it was, from 1.
        attempt: i32,
    },

    /// The lease is another attempt's by now, or its outcome was settled without this one. What this
    /// attempt would have written is not written.
    ///
    /// Its effect outside the database may have happened. A retry with the same key gets what became
    /// of the key.
    #[error("the lease on this idempotency key was lost")]
    LeaseLost,

    /// A lease was asked for, or ended, inside a transaction, which could take it back. Nothing was
    /// written.
    #[error("a lease outlives any transaction: use a connection that has none open")]
    LeaseInTransaction,

    /// As many leased runs are under way as are let be: by
    /// [`set_max_concurrent`](crate::calls::lease::set_max_concurrent) in this process, or by a layer. Nothing
    /// was claimed.
    #[error(
        "{limit} leased runs are under way, which is the limit; nothing was written: try again with the same key"
    )]
    TooManyRuns {
        /// The limit.
        limit: usize,
        /// When to try again.
        retry_after: Duration,
    },

    /// A handler called a handler with its own identity (namespace, scope and key), in its own
    /// transaction.
    #[error(
        "an idempotent handler called another with the very same namespace, scope and key: give the inner call `key.child(\"…\")`"
    )]
    NestedSameKey,

    /// The connection was inside a transaction that sqlx does not know of.
    ///
    /// On PostgreSQL that transaction has been rolled back (BEGIN inside one is only a warning
    /// there, so it is found out late), and on MySQL too, where it may be what a call that was
    /// dropped has left; on SQLite it is as it was.
    #[error(
        "the connection was already inside a transaction begun outside sqlx: pass the `Transaction` itself"
    )]
    AlreadyInTransaction,

    /// A store that needs an open transaction was bound to a connection without one.
    #[error("the connection has no open transaction")]
    NotInTransaction,

    /// The body ended the transaction. Nothing was recorded.
    ///
    /// Effects that the body committed by itself are there, without a record: a retry runs the body
    /// once more. The transaction that remained was rolled back.
    #[error(
        "the transaction that the body was given is no longer the one begun: the body ended it (COMMIT, ROLLBACK, PREPARE), or reset its settings"
    )]
    TransactionEnded,

    /// On PostgreSQL: the body changed where the record's table is found, by `search_path`, by a role that
    /// does not see its schema, by a temporary table of its name, by DROP or RENAME. Nothing was recorded,
    /// and the transaction was rolled back. The other databases do not raise it.
    ///
    /// A body that has also ended its transaction is told [`Error::TransactionEnded`], as far as that can
    /// be known: not where it has begun another one and the unit of work is the caller's, or that of a pool
    /// with `idem.fused=off` or without prepared statements. What such a body has committed stands.
    #[error(
        "the body moved the record's table `{table}` out of sight (`search_path`, a role, a temporary table, DROP or RENAME): nothing was recorded, and the transaction was rolled back, except for what the body committed itself; {}",
        by_schema(table)
    )]
    TableMoved {
        /// The table, as the operation names it.
        table: String,
    },

    /// The database role lacks a privilege on the record's table: it was never granted, the body switched
    /// to a role without it (`SET ROLE`), or a policy of row security forbids it. Nothing was recorded, and
    /// the transaction was rolled back.
    #[error(
        "the database role may not {privilege} on the record's table `{table}`: nothing was recorded, and the transaction was rolled back; grant it (`GRANT {privilege} ON {table} TO ..`), let the body switch its role back, or add a policy where row security forbids it"
    )]
    PermissionDenied {
        /// The table, as the operation names it.
        table: String,
        /// What is to be granted.
        privilege: &'static str,
        /// The database's error.
        source: DatabaseError,
    },

    /// A statement was left half-way, by the body or before a joined call, and the connection no longer
    /// answers what it is asked: a COPY that was neither finished nor aborted, one whose stream was not read
    /// to its end, one that the server refused; on MySQL, a query that was dropped while the driver prepared
    /// it. Nothing was recorded, and nothing of this call remains when the connection is closed.
    ///
    /// A pool's connection is closed. The session of a caller's own connection is ended, and with it his
    /// transaction, where the driver still sends what it is told. On MySQL it may not: it waits for an
    /// answer that never comes, and so does every later statement. Close (drop) that connection.
    #[error(
        "a statement was left half-way ({}), so that the connection answers something else than it is asked: nothing was recorded, and the transaction is rolled back as its connection ends; a pool's connection is closed, one of your own is out of step: close it, its next statement may wait for ever; in the body, end each COPY with `finish` or `abort`, read its stream to the end, and drop no query on MySQL before it is answered",
        .0.cause()
    )]
    StatementUnfinished(#[source] DatabaseError),

    /// A statement had failed and aborted the transaction, and its error was swallowed: by the
    /// body, which then returned `Ok`, or by the caller before a joined call. Nothing of this call
    /// remains.
    #[error(
        "a statement had failed and aborted the transaction, and its error was swallowed: return that error"
    )]
    TransactionAborted,

    /// The database gave up this transaction for the sake of another (deadlock, serialization
    /// failure). All of it was rolled back, the caller's part included; try again with the same
    /// key.
    #[error("the database gave up the transaction for the sake of another")]
    TransactionLost(#[source] DatabaseError),

    /// The transaction reads an older state than is needed: on PostgreSQL, too old to see the record
    /// of the attempt that won; on SQLite, any other connection has written since it began to read,
    /// so that it may not write. Nothing of this call remains; try again in a new transaction. On
    /// SQLite, begin the caller's transaction with `begin_with("BEGIN IMMEDIATE")`.
    #[error(
        "another connection has written since this transaction began to read: try again in a new transaction (on SQLite, one begun with BEGIN IMMEDIATE)"
    )]
    FreshTransactionNeeded,

    /// The database says that a record for this key exists and does not show it (row security, by
    /// habit). Everything was rolled back.
    ///
    /// Once in a blue moon it was there and is gone: another attempt's record that expired and was purged
    /// between the INSERT that met it and the look that followed. A retry tells the two apart, and
    /// is safe.
    #[error(
        "a record for this key exists and cannot be seen (row security, or a trigger that moves records?); everything was rolled back"
    )]
    RecordInvisible,

    /// The record's INSERT reported no row although nothing stood against it (a trigger that
    /// returns NULL, by habit).
    #[error("the database accepted the record and did not write it (a trigger on the table?)")]
    RecordNotWritten,

    /// COMMIT was refused: everything was rolled back (a deferred constraint, by habit).
    #[error("the transaction was rolled back at COMMIT")]
    CommitFailed(#[source] DatabaseError),

    /// The answer to COMMIT was lost and it could not be found out what became of it; or a leased body
    /// came to its end, which the database was too long out of reach to record. Safe to retry with the
    /// same key.
    #[error(
        "the answer to COMMIT was lost and its outcome could not be found out: retry with the same idempotency key"
    )]
    CommitUnknown(#[source] DatabaseError),

    /// The database is there and busy with other writers. Nothing was written.
    #[error(
        "the database is busy with other writers ({}); nothing was written: try again with the same key",
        .0.cause()
    )]
    Busy(#[source] DatabaseError),

    /// The server does not know a prepared statement of this connection any more (`DISCARD ALL`,
    /// `DEALLOCATE ALL`), does not run it any more (a column has another type), or knows another's of its
    /// name (a pooler in transaction mode). Nothing was written; the connection prepares its statements anew.
    #[error(
        "the connection has lost its prepared statements ({}); nothing was written: try again with the same key, and keep none behind a pooler in transaction mode (`statement_cache_capacity(0)`)",
        .0.cause()
    )]
    StatementsLost(#[source] DatabaseError),

    /// The table of locks that all sessions of the server share is full, by habit because one transaction
    /// holds too many: each key, each table and each partition takes one. Nothing was written.
    #[error(
        "the server's table of locks is full ({}); nothing was written: use fewer keys and tables in one transaction, or raise `max_locks_per_transaction`, and try again with the same key",
        .0.cause()
    )]
    LockTableFull(#[source] DatabaseError),

    /// The server takes no writes (a hot standby, a read-only database). Nothing was written.
    #[error("the server is read-only: point the pool at the primary")]
    ReadOnly(#[source] DatabaseError),

    /// The database cannot be reached. The call fails closed: the body did not run, or nothing of
    /// it remains.
    #[error(
        "no connection to the idempotency store ({}); the body did not run or was rolled back: try again with the same key",
        .0.cause()
    )]
    Unavailable(#[source] DatabaseError),

    /// Any other database error in a statement of the library's own.
    #[error("the idempotency store failed")]
    Database(#[source] DatabaseError),

    /// A stored payload no longer decodes into the type that this build expects. The body does not
    /// run.
    #[error(
        "the record of operation `{operation}` does not decode into `{type_name}`{}; the body did not run: read it with a build that knows its form (the fields `path` and `message` say where and why, and may quote it)",
        logged::position(message)
    )]
    IncompatibleState {
        /// The operation that recorded it.
        operation: String,
        /// The Rust type expected.
        type_name: &'static str,
        /// Where in the payload the decoding stopped; the keys of maps are part of it.
        path: String,
        /// What the decoder said, which may quote the payload.
        message: String,
    },

    /// A result or a permanent failure cannot be recorded: it cannot be encoded, or it would not
    /// come back from its own JSON as it went, so that a replay would fail or differ. Everything
    /// was rolled back; in lease mode, where nothing can be, the outcome is unknown.
    #[error(
        "what operation `{operation}` came to, a `{type_name}`, cannot be recorded: {reason}; nothing was recorded: the field `message` of this error may say more"
    )]
    NotStorable {
        /// The operation called.
        operation: String,
        /// The Rust type of the result, or of the error.
        type_name: &'static str,
        /// Why, in words of the library's own.
        reason: &'static str,
        /// The same, with what the encoder or the decoder said, which may quote the value.
        message: String,
    },

    /// A record holds a code that this build does not know. It is never taken for an absent record.
    #[error("the record's {what} is {value}, which this build does not know")]
    UnknownState {
        /// Which column.
        what: &'static str,
        /// The code found.
        value: i64,
    },

    /// The record's table is not fit to arbitrate.
    #[error(transparent)]
    Schema(#[from] SchemaFault),
}

/// How a table is found wherever `search_path` points.
fn by_schema(table: &str) -> Cow<'static, str> {
    if table.contains('.') {
        "leave it in its place".into()
    } else {
        format!("name it with its schema (`table = \"schema.{table}\"`), or leave it in its place")
            .into()
    }
}

/// A place in a payload, in words.
pub(crate) fn json_path(path: &str) -> Cow<'static, str> {
    match path {
        "." => "at its root".into(),
        path => format!("at `{path}`").into(),
    }
}

#[cfg(test)]
mod tests;
