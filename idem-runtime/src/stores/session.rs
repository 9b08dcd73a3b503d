//! The operations that the engine and the plain store need from a connection of any database.
//!
//! Each dialect implements them with its own SQL; there is no generic SQL layer. The traits are sealed: the
//! protocol has one implementation.

use std::fmt;
use std::future::Future;

use super::claim::{ClaimRequest, Found, HeldClaim};
use crate::values::error::{Error, SchemaFinding};
use crate::values::fingerprint::Fingerprint;
use crate::values::key::Scope;
use crate::values::record::{AttemptId, RecordFormat, Status};

/// The record to write.
#[derive(Clone, Copy)]
pub struct NewRecord<'a> {
    pub(crate) status: Status,
    pub(crate) operation: &'a str,
    pub(crate) fingerprint: Option<Fingerprint>,
    pub(crate) format: RecordFormat,
    pub(crate) request: Option<&'a [u8]>,
    pub(crate) result: Option<&'a [u8]>,
    pub(crate) failure: Option<&'a [u8]>,
    /// Microseconds.
    pub(crate) retention: i64,
    /// The reclaimable record whose place this one takes.
    pub(crate) replaces: Option<AttemptId>,
    pub(crate) attempt: i32,
}

impl fmt::Debug for NewRecord<'_> {
    /// Shows neither request nor result nor failure.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewRecord")
            .field("status", &self.status)
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}

/// The fate of the writes that a body has made since its savepoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyWrites {
    /// They are committed with the record.
    Keep,
    /// They are rolled back; the record alone is committed.
    Discard,
}

/// Which records a purge deletes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purgeable {
    /// Those past their retention. A lease and an unknown outcome have none.
    Expired,
    /// Those of unknown outcome, this many microseconds after the end of their lease.
    Unknown(i64),
}

/// Returns the statuses, the column of times and the age of the records that a purge deletes, as text.
pub(crate) fn purgeable(purgeable: Purgeable) -> (String, &'static str, i64) {
    match purgeable {
        Purgeable::Expired => {
            let statuses = [Status::Completed, Status::Failed, Status::Released];
            let codes = statuses.map(|status| status.code().to_string());
            (codes.join(", "), "expires_at", 0)
        }
        Purgeable::Unknown(ago) => (Status::Unknown.code().to_string(), "locked_until", ago),
    }
}

/// What a look at the whole table shows, by ranges of its indexes on times.
#[cfg(feature = "metrics")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableSample {
    /// The number of outcomes unknown for longer than the time asked for, of the first [`SAMPLED`](Self::SAMPLED).
    pub(crate) unknown: u64,
    /// The microseconds by which the oldest record has outlived its retention.
    pub(crate) overdue: i64,
}

#[cfg(feature = "metrics")]
impl TableSample {
    /// The most lapsed leases and unknown outcomes that one look reads.
    pub(crate) const SAMPLED: u32 = 1_000;
}

/// The outcome of writing the record.
#[derive(Debug, PartialEq, Eq)]
pub enum Written {
    /// The record was written: one row.
    Done,
    /// Another attempt's record stands there.
    Conflict,
}

/// The outcome of COMMIT, if it did not plainly succeed.
pub enum CommitError {
    /// Everything was rolled back.
    RolledBack(Error),
    /// There was no answer, or one that leaves the outcome open.
    Ambiguous(sqlx::Error),
}

impl fmt::Debug for CommitError {
    /// Shows no driver's error of a COMMIT, which may quote a row.
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

/// The request of an attempt on a connection of this type.
pub(crate) type RequestOf<S> = ClaimRequest<<S as Session>::PoolTraits>;

/// The claim of an attempt on a connection of this type.
pub(crate) type ClaimOf<S> = HeldClaim<<S as Session>::PoolTraits, <S as Session>::Claim>;

/// The finding of a claim on a connection of this type.
pub(crate) type FoundBy<S> = Found<<S as Session>::PoolTraits, <S as Session>::Claim>;

/// A connection that a store can work on. Sealed; implemented by the drivers' connections.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no connection that a store can work on",
    label = "pass the connection itself: `&mut *conn` of a pooled one, `&mut *tx` of a transaction",
    note = "inside a handler, where `tx` is a reference: `&mut **tx`"
)]
#[doc(hidden)]
pub trait Session: sealed::Sealed + Send {
    /// Facts that only a pool knows of its connections.
    type PoolTraits: fmt::Debug + Clone + Default + Send + Sync;

    /// The dialect's part of a claim.
    type Claim: fmt::Debug + Send + Sync;

    /// Returns whether a transaction is open, as the driver knows it.
    fn has_transaction(&self) -> bool;

    /// Asks for the identity's lock in the open transaction, and then looks the record up.
    fn claim(
        &mut self,
        request: &RequestOf<Self>,
    ) -> impl Future<Output = Result<FoundBy<Self>, Error>> + Send;

    /// Looks the record up, and asks for no lock.
    fn look_up(
        &mut self,
        request: &RequestOf<Self>,
    ) -> impl Future<Output = Result<FoundBy<Self>, Error>> + Send;

    /// Checks that the table of the claim is fit to arbitrate, and remembers that it is.
    fn verify(&mut self, claim: &ClaimOf<Self>) -> impl Future<Output = Result<(), Error>> + Send;

    /// Returns the facts that make the table less safe, but are no reason to refuse it.
    fn findings(
        &mut self,
        claim: &ClaimOf<Self>,
    ) -> impl Future<Output = Result<Vec<SchemaFinding>, Error>> + Send {
        let _ = claim;
        async { Ok(Vec::new()) }
    }

    /// Sets the savepoint before the body. `may_discard` says whether the body's writes may have to be
    /// rolled back alone.
    fn set_savepoint(
        &mut self,
        claim: &ClaimOf<Self>,
        may_discard: bool,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Releases the savepoint after the body. If the savepoint is the ownership check, this proves that the
    /// transaction is still the one that claimed. With [`BodyWrites::Discard`] it first rolls back the body's
    /// writes.
    fn release_savepoint(
        &mut self,
        claim: &ClaimOf<Self>,
        body_writes: BodyWrites,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Writes the record, if the transaction is still the one that claimed.
    fn write(
        &mut self,
        claim: &ClaimOf<Self>,
        record: &NewRecord<'_>,
    ) -> impl Future<Output = Result<Written, Error>> + Send;

    /// Releases the savepoint, and writes the record as the last statement.
    fn record(
        &mut self,
        claim: &ClaimOf<Self>,
        record: &NewRecord<'_>,
        body_writes: BodyWrites,
    ) -> impl Future<Output = Result<Written, Error>> + Send {
        async move {
            self.release_savepoint(claim, body_writes).await?;
            self.write(claim, record).await
        }
    }

    /// Gives a claim back inside its transaction.
    fn release(&mut self, claim: ClaimOf<Self>) -> impl Future<Output = Result<(), Error>> + Send;

    /// Deletes the row that a claim left for others to see when its transaction was committed without a record.
    fn withdraw(
        &mut self,
        request: &RequestOf<Self>,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        let _ = request;
        async { Ok(()) }
    }

    /// Returns whether there is a table of legal holds beside a table of records.
    fn has_holds(&mut self, table: &str) -> impl Future<Output = Result<bool, Error>> + Send;

    /// Locks the legal holds of a table of records until the transaction ends, so that none is placed meanwhile. Returns
    /// `false` if there is no table of holds.
    fn lock_holds(&mut self, table: &str) -> impl Future<Output = Result<bool, Error>> + Send;

    /// Locks the legal holds, and returns whether there is one on a scope.
    fn is_held(
        &mut self,
        table: &str,
        scope: &Scope,
    ) -> impl Future<Output = Result<bool, Error>> + Send;

    /// Deletes up to `limit` purgeable records of every namespace, and returns the number deleted. Leaves those on whose
    /// scope there is a legal hold.
    fn purge(
        &mut self,
        table: &str,
        purgeable: Purgeable,
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

    /// Creates the table, unless it exists.
    fn create(
        &mut self,
        table: &str,
        migration: String,
    ) -> impl Future<Output = Result<(), Error>> + Send;
}

/// A connection or its holder: a pooled connection, a transaction. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no connection, and holds none",
    label = "pass `&mut conn`: a connection, one acquired from a pool, or a transaction"
)]
#[doc(hidden)]
pub trait AsSession: Send {
    /// The driver's connection.
    type Session: Session;

    /// Returns the connection itself.
    fn session(&mut self) -> &mut Self::Session;
}

impl<S: Session> AsSession for S {
    type Session = S;

    fn session(&mut self) -> &mut S {
        self
    }
}
