//! What the engine and the plain store ask of a connection, whatever the database.
//!
//! Honest dialects implement this; there is no generic SQL layer. The traits are sealed: the
//! protocol has one home.

use std::fmt;
use std::future::Future;

use sqlx::Transaction;
use sqlx::pool::PoolConnection;

use super::backend::Backend;
use crate::error::{Error, SchemaFinding};
use crate::fingerprint::Fingerprint;
use crate::identity::{Identity, Mark};
use crate::outcome::{Lock, Sighting};
use crate::record::{AttemptId, Record, Status, Timestamp};
use crate::store::running::Running;

/// One attempt's question to the store: which identity, in which table, asked by whom.
#[derive(Debug, Clone)]
pub struct Ask {
    pub(crate) table: std::borrow::Cow<'static, str>,
    pub(crate) identity: Identity,
    #[cfg_attr(
        not(any(feature = "postgres", feature = "sqlite")),
        allow(
            dead_code,
            reason = "only PostgreSQL and SQLite have a place where names may not go"
        )
    )]
    pub(crate) mark: Mark,
    pub(crate) attempt_id: AttemptId,
    pub(crate) home: Home,
    /// Whether the look before the transaction has met a spent record: then that row is to be
    /// claimed, where a row is the claim.
    #[cfg_attr(
        not(feature = "mysql"),
        allow(dead_code, reason = "only on MySQL a row is the claim")
    )]
    pub(crate) met: bool,
    /// Why the last attempt could not open its unit of work in one message, if it tried.
    #[cfg_attr(
        not(feature = "postgres"),
        allow(
            dead_code,
            reason = "only PostgreSQL runs several statements in one message"
        )
    )]
    pub(crate) declined: Option<Declined>,
}

/// Why a unit of work could not be opened in one message. Nothing has happened; what was begun is still
/// to be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declined {
    /// The identity has a record.
    Recorded,
    /// Another attempt has the lock.
    InFlight,
    /// This connection does not know the statements, or has not verified the table.
    Unprepared,
    /// It does not go that way here.
    Unfit,
}

/// What only a pool knows of its connections.
#[derive(Debug, Clone, Default)]
pub struct Home {
    /// The database that they share, where its file has no name (SQLite's shared memory).
    pub(crate) name: Option<String>,
    /// Whether they keep prepared statements; behind a pooler in transaction mode they must not.
    #[cfg_attr(
        not(feature = "postgres"),
        allow(
            dead_code,
            reason = "only PostgreSQL has statements with names to mix up"
        )
    )]
    pub(crate) keeps_statements: Option<bool>,
    /// Whether units of work are opened and ended in one message each, where they can be.
    pub(crate) fuses: bool,
    /// Whether the database ends with its connections (SQLite's memory), so that none of them may be
    /// closed to be rid of what it was doing.
    pub(crate) ends_with_connections: bool,
}

impl Ask {
    pub(crate) fn new(
        table: impl Into<std::borrow::Cow<'static, str>>,
        identity: Identity,
    ) -> Self {
        let table = table.into();
        let mark = identity.mark(&table);
        Self::marked(table, identity, mark)
    }

    /// The same, of an identity whose mark for this table is known.
    pub(crate) fn marked(
        table: impl Into<std::borrow::Cow<'static, str>>,
        identity: Identity,
        mark: Mark,
    ) -> Self {
        Self {
            table: table.into(),
            identity,
            mark,
            attempt_id: AttemptId::random(),
            home: Home::default(),
            met: false,
            declined: None,
        }
    }

    /// The same question asked by a new attempt: nothing that an earlier attempt held counts as
    /// this one's.
    pub(crate) fn anew(&self) -> Self {
        Self {
            attempt_id: AttemptId::random(),
            met: false,
            declined: None,
            ..self.clone()
        }
    }

    /// The name of the savepoint before the body: no other attempt's, and nothing but letters and
    /// hex.
    #[cfg_attr(
        not(any(feature = "mysql", feature = "postgres", feature = "sqlite")),
        allow(dead_code, reason = "a store in memory needs no savepoint")
    )]
    pub(crate) fn savepoint(&self) -> String {
        format!("idem_{}", self.attempt_id)
    }
}

/// What a look at the store showed.
#[derive(Debug)]
pub struct Seen {
    /// What the decision is made from.
    pub(crate) record: Option<Record>,
    pub(crate) lock: Lock,
    pub(crate) now: Timestamp,
    /// Which table it was: on PostgreSQL its oid. The record is written to this one or to none.
    pub(crate) place: i64,
    /// Whether this transaction reads from one snapshot, taken before the lock.
    pub(crate) snapshot: bool,
    /// Whether this table is known to be fit to arbitrate.
    pub(crate) verified: bool,
    /// Whether claiming has put a placeholder where the record will be.
    pub(crate) placeholder: bool,
    /// Keeps other attempts of this process away, where the database has no lock to try.
    pub(crate) running: Option<Running>,
    /// The database looked at, where its name is known: SQLite's file.
    pub(crate) home: Option<String>,
}

impl Seen {
    /// Splits what is decided from what is held.
    pub(crate) fn split(self, ask: Ask) -> (Sighting, Held) {
        let sighting = Sighting {
            record: self.record,
            lock: self.lock,
            now: self.now,
        };
        let held = Held {
            ask,
            place: self.place,
            snapshot: self.snapshot,
            verified: self.verified,
            placeholder: self.placeholder,
            fused: false,
            running: self.running,
        };
        (sighting, held)
    }
}

/// What an attempt holds while its body runs.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
pub struct Held {
    pub(crate) ask: Ask,
    #[cfg_attr(
        not(feature = "postgres"),
        allow(dead_code, reason = "only PostgreSQL finds tables by a search path")
    )]
    pub(crate) place: i64,
    pub(crate) snapshot: bool,
    pub(crate) verified: bool,
    #[cfg_attr(
        not(feature = "mysql"),
        allow(dead_code, reason = "only on MySQL a row is the claim")
    )]
    pub(crate) placeholder: bool,
    /// Whether the unit of work was opened in one message; then it ends in one.
    #[cfg_attr(
        not(feature = "postgres"),
        allow(
            dead_code,
            reason = "only PostgreSQL runs several statements in one message"
        )
    )]
    pub(crate) fused: bool,
    #[allow(dead_code, reason = "held for its Drop")]
    pub(crate) running: Option<Running>,
}

/// The record to write.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    pub(crate) status: Status,
    pub(crate) operation: &'a str,
    pub(crate) fingerprint: Option<Fingerprint>,
    pub(crate) request: Option<&'a [u8]>,
    pub(crate) result: Option<&'a [u8]>,
    pub(crate) failure: Option<&'a [u8]>,
    /// Microseconds.
    pub(crate) retention: i64,
    /// The spent record whose place this one takes.
    pub(crate) replaces: Option<AttemptId>,
    pub(crate) attempt: i32,
}

impl fmt::Debug for Entry<'_> {
    /// Shows neither request nor result nor failure.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("status", &self.status)
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}

/// Which records a purge deletes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spent {
    /// Those past their retention. A lease and an unknown outcome have none.
    Expired,
    /// Those of unknown outcome, so many microseconds after the end of their lease.
    Unknown(i64),
}

/// What came of writing the record.
#[derive(Debug, PartialEq, Eq)]
pub enum Written {
    /// One row, ours.
    Done,
    /// Another attempt's record stands there.
    Rival,
}

/// What came of COMMIT, when it is not plainly done.
pub enum CommitError {
    /// Everything was rolled back.
    RolledBack(Error),
    /// No answer, or one that leaves it open.
    Ambiguous(sqlx::Error),
}

impl fmt::Debug for CommitError {
    /// What the driver says of a COMMIT may quote a row.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RolledBack(error) => f.debug_tuple("RolledBack").field(error).finish(),
            Self::Ambiguous(_) => f.debug_tuple("Ambiguous").finish_non_exhaustive(),
        }
    }
}

pub(crate) mod sealed {
    /// Keeps the traits of this module to this crate.
    pub trait Sealed {}
}

/// A connection that a store can work on. Sealed; implemented by the drivers' connections.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no connection that a store can work on",
    label = "pass the connection itself: `&mut *conn` of a pooled one, `&mut *tx` of a transaction",
    note = "inside a handler, where `tx` is a reference: `&mut **tx`"
)]
#[doc(hidden)]
pub trait Session: sealed::Sealed + Send {
    /// Whether a transaction is open, as the driver knows it.
    fn has_transaction(&self) -> bool;

    /// In the open transaction: asks for the identity's lock, then looks its record up.
    fn claim(&mut self, ask: &Ask) -> impl Future<Output = Result<Seen, Error>> + Send;

    /// Looks the record up, without asking for anything.
    fn look_up(&mut self, ask: &Ask) -> impl Future<Output = Result<Seen, Error>> + Send;

    /// Checks that the table seen is fit to arbitrate, and remembers that it is.
    fn verify(&mut self, held: &Held) -> impl Future<Output = Result<(), Error>> + Send;

    /// What is worth knowing beside the table, and no reason to refuse it.
    fn findings(
        &mut self,
        held: &Held,
    ) -> impl Future<Output = Result<Vec<SchemaFinding>, Error>> + Send {
        let _ = held;
        async { Ok(Vec::new()) }
    }

    /// Marks the place before the body. `undo` says whether the body's writes may have to be taken
    /// back alone.
    fn mark(&mut self, held: &Held, undo: bool) -> impl Future<Output = Result<(), Error>> + Send;

    /// After the body: proves that the mark is still there, where it is the witness; with `undo`,
    /// takes back what was written since.
    fn unmark(&mut self, held: &Held, undo: bool)
    -> impl Future<Output = Result<(), Error>> + Send;

    /// Writes the record, under the witness that the transaction is still the one that claimed.
    fn write(
        &mut self,
        held: &Held,
        entry: &Entry<'_>,
    ) -> impl Future<Output = Result<Written, Error>> + Send;

    /// Gives a claim back inside its transaction.
    fn release(&mut self, held: Held) -> impl Future<Output = Result<(), Error>> + Send;

    /// After a claim's transaction was ended without it: takes back what it left for others to see.
    fn withdraw(&mut self, ask: &Ask) -> impl Future<Output = Result<(), Error>> + Send {
        let _ = ask;
        async { Ok(()) }
    }

    /// Deletes up to `limit` spent records of every namespace; returns how many.
    fn purge(
        &mut self,
        table: &str,
        spent: Spent,
        limit: u32,
    ) -> impl Future<Output = Result<u64, Error>> + Send;
}

/// A connection on which the table can be created. Sealed; implemented by the drivers' connections.
#[diagnostic::on_unimplemented(
    message = "on a `{Self}` no table can be created",
    label = "pass a connection to a database: `&mut *conn`"
)]
#[doc(hidden)]
pub trait Migrate: Session {
    /// The migration of this database.
    const MIGRATION: &'static str;

    /// Creates the table, unless it is there.
    fn create(
        &mut self,
        table: &str,
        migration: String,
    ) -> impl Future<Output = Result<(), Error>> + Send;
}

/// A connection, or what holds one: a pooled connection, a transaction. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no connection, and holds none",
    label = "pass `&mut conn`: a connection, one acquired from a pool, or a transaction"
)]
#[doc(hidden)]
pub trait AsSession: Send {
    /// The driver's connection.
    type Session: Session;

    /// The connection itself.
    fn session(&mut self) -> &mut Self::Session;
}

impl<S: Session> AsSession for S {
    type Session = S;

    fn session(&mut self) -> &mut S {
        self
    }
}

impl<DB: Backend> AsSession for PoolConnection<DB> {
    type Session = DB::Connection;

    fn session(&mut self) -> &mut DB::Connection {
        self
    }
}

impl<DB: Backend> AsSession for Transaction<'_, DB> {
    type Session = DB::Connection;

    fn session(&mut self) -> &mut DB::Connection {
        self
    }
}
