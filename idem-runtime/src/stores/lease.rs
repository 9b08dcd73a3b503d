//! The operations that lease mode needs from a connection beyond [`Session`]: writes that commit by themselves.
//!
//! Each method is one short transaction, durable before it answers. Every write after the claim is one
//! conditional UPDATE whose condition is [`Change`]'s. A dialect keeps them in its `lease` file; a dialect
//! without that file offers no lease mode.

use std::collections::HashSet;
use std::fmt;
use std::future::Future;

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
use sqlx::Transaction;

use super::backend::Backend;
use super::claim::Found;
use super::hold::decide_held;
use super::lapsed::{Page, UnknownRecord};
use super::session::{CommitError, FoundBy, NewRecord, RequestOf, Session};
use crate::decision::{Change, DecideInput, Decision, KeyBefore, LeaseHolder, Lookup, decide};
use crate::values::error::Error;
use crate::values::fingerprint::Fingerprint;
use crate::values::identity::Identity;
use crate::values::policy::Lease;
use crate::values::record::{AttemptId, CODEC_JSON, Record, RecordFormat, Status};

/// A database that keeps leases. Sealed; implemented by sqlx's database types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a database that idem keeps leases in",
    note = "lease mode is there for PostgreSQL, MySQL and SQLite"
)]
pub trait LeaseBackend: Backend<Connection: LeaseSession> {}

impl<DB: Backend<Connection: LeaseSession>> LeaseBackend for DB {}

/// A connection on which leases can be kept. Sealed; implemented by the drivers' connections.
#[doc(hidden)]
pub trait LeaseSession: Session {
    /// Claims in one durable transaction: lock, look-up, decision, write. Refused inside another transaction.
    fn acquire(
        &mut self,
        request: &RequestOf<Self>,
        lease_request: &LeaseRequest<'_>,
    ) -> impl Future<Output = Result<Leased, CommitError>> + Send;

    /// Makes one conditional UPDATE in a durable transaction, and returns whether a record met its condition.
    /// Refused inside another transaction.
    fn update(
        &mut self,
        request: &RequestOf<Self>,
        write: &Write<'_>,
    ) -> impl Future<Output = Result<bool, CommitError>> + Send;

    /// Extends the due leases of one table in one durable transaction, without waiting for any lock. Refused
    /// inside another transaction.
    fn extend(
        &mut self,
        table: &str,
        due: &[Due<'_>],
    ) -> impl Future<Output = Result<Extended, CommitError>> + Send;

    /// Changes lapsed leases of one operation as their policy says, and returns the number changed.
    fn lapse(
        &mut self,
        overdue: &Overdue<'_>,
    ) -> impl Future<Output = Result<u64, CommitError>> + Send;

    /// Returns records of unknown outcome, oldest lapse first.
    fn unknown(
        &mut self,
        page: &Page<'_>,
    ) -> impl Future<Output = Result<Vec<UnknownRecord>, Error>> + Send;

    /// Counts a namespace's records of unknown outcome.
    fn count_unknown(
        &mut self,
        table: &str,
        namespace: &str,
    ) -> impl Future<Output = Result<u64, Error>> + Send;
}

/// The two statements of a claim, inside its transaction. Each returns whether it changed a row.
#[doc(hidden)]
#[cfg_attr(
    not(feature = "operate"),
    allow(unreachable_pub, reason = "only what an operator does is above it")
)]
pub trait LeaseStatements: Session {
    /// Writes a record in progress: inserts it, or replaces the one that `record` names, if that is still there
    /// and is reclaimable, or (taking over) lapsed.
    fn upsert(
        &mut self,
        request: &RequestOf<Self>,
        record: &NewRecord<'_>,
        take_over: bool,
        lease: Lease,
    ) -> impl Future<Output = Result<bool, Error>> + Send;

    /// Makes the conditional UPDATE.
    fn update_row(
        &mut self,
        request: &RequestOf<Self>,
        write: &Write<'_>,
    ) -> impl Future<Output = Result<bool, Error>> + Send;
}

/// Decides by the look-up under the lock, and writes. Returns `true` beside the answer if something was
/// written.
pub(super) async fn decided<S: LeaseStatements>(
    conn: &mut S,
    found: FoundBy<S>,
    lease_request: &LeaseRequest<'_>,
) -> Result<(Leased, bool), Error> {
    let Found { lookup, claim } = found;
    let request = &claim.request;
    let found_record = lookup.record.is_some();
    let decision = decide_held(conn, request, lookup, lease_request.input).await?;
    let (leased, written) = match lease_request.plan_of(decision) {
        Plan::Answer(leased) => return Ok((leased, false)),
        Plan::Lapse(record) => {
            let write = Write::own(Change::Lapse, record.attempt_id, 0);
            let written = conn.update_row(request, &write).await?;
            (Leased::Decided(Decision::Lapse(record)), written)
        }
        Plan::Write {
            record,
            take_over,
            before,
        } => {
            if !claim.verified {
                conn.verify(&claim).await?;
            }
            let written = conn
                .upsert(request, &record, take_over, lease_request.lease)
                .await?;
            let attempt = record.attempt;
            (Leased::Taken { attempt, before }, written)
        }
    };
    Ok(if written {
        (leased, true)
    } else {
        (Leased::Conflict { found_record }, false)
    })
}

/// The request for a lease.
#[derive(Clone, Copy)]
pub struct LeaseRequest<'a> {
    pub(crate) input: DecideInput<'a>,
    pub(crate) lease: Lease,
    /// The attempt whose lapsed lease is to be taken over, if nothing else may be claimed.
    pub(crate) takes_over: Option<AttemptId>,
    pub(crate) fingerprint: Option<Fingerprint>,
    pub(crate) format: RecordFormat,
    pub(crate) request: Option<&'a [u8]>,
}

impl fmt::Debug for LeaseRequest<'_> {
    /// Shows no request.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseRequest")
            .field("lease", &self.lease)
            .finish_non_exhaustive()
    }
}

/// The outcome of a request for a lease.
#[derive(Debug)]
pub enum Leased {
    /// The lease is this attempt's, the `attempt`th of its key, and durable.
    Taken { attempt: i32, before: KeyBefore },
    /// The decision is another answer. If it made a lapsed lease unknown, that is durable.
    Decided(Decision),
    /// Another attempt was quicker between look-up and write: look up again.
    Conflict {
        /// Whether a record was seen before the write.
        found_record: bool,
    },
}

/// The write that a claim is to make.
#[derive(Debug)]
pub(crate) enum Plan<'a> {
    /// Write a record in progress, as a new one or in place of a reclaimable or lapsed one.
    Write {
        record: NewRecord<'a>,
        take_over: bool,
        before: KeyBefore,
    },
    /// Mark the lapsed record as unknown.
    Lapse(Box<Record>),
    /// Write nothing.
    Answer(Leased),
}

impl<'a> LeaseRequest<'a> {
    /// Returns this request for one attempt.
    pub(crate) fn for_attempt(mut self, attempt_id: AttemptId) -> Self {
        self.input.lease_holder = Some(LeaseHolder {
            attempt_id,
            on_lapse: self.lease.on_lapse(),
            takes_over: self.takes_over,
        });
        self
    }

    /// Returns the write that a look-up leads to.
    pub(crate) fn plan(&self, lookup: Lookup) -> Plan<'a> {
        self.plan_of(decide(lookup, self.input))
    }

    fn plan_of(&self, decision: Decision) -> Plan<'a> {
        match decision {
            Decision::Run {
                replaces,
                attempt,
                before,
            } => Plan::Write {
                record: self.record(replaces, attempt),
                take_over: false,
                before,
            },
            Decision::TakeOver { lapsed, attempt } => Plan::Write {
                record: self.record(Some(lapsed), attempt),
                take_over: true,
                before: KeyBefore::Lapsed,
            },
            Decision::Lapse(record) => Plan::Lapse(record),
            Decision::AlreadyHeld { attempt } => Plan::Answer(Leased::Taken {
                attempt,
                before: KeyBefore::Unused,
            }),
            decision => Plan::Answer(Leased::Decided(decision)),
        }
    }

    fn record(&self, replaces: Option<AttemptId>, attempt: i32) -> NewRecord<'a> {
        NewRecord {
            status: Status::InProgress,
            operation: self.input.operation,
            fingerprint: self.fingerprint,
            format: self.format,
            request: self.request,
            result: None,
            failure: None,
            retention: 0,
            replaces,
            attempt,
        }
    }
}

/// A write after the claim.
#[derive(Clone, Copy)]
pub struct Write<'a> {
    pub(crate) change: Change,
    /// The attempt that the record must carry.
    pub(crate) expected: AttemptId,
    /// The attempt that the record carries afterwards. A different one fences the earlier attempt off.
    pub(crate) becomes: AttemptId,
    /// Microseconds: of the lease for a heartbeat, otherwise of the retention.
    pub(crate) lasts: i64,
    /// The codec of the result or the failure, and of the request that the record keeps.
    pub(crate) codec: i16,
    pub(crate) result: Option<&'a [u8]>,
    pub(crate) failure: Option<&'a [u8]>,
}

impl fmt::Debug for Write<'_> {
    /// Shows neither result nor failure.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Write")
            .field("change", &self.change)
            .finish_non_exhaustive()
    }
}

impl Write<'_> {
    /// Returns a write of the attempt that the record carries.
    pub(crate) fn own(change: Change, attempt_id: AttemptId, lasts: i64) -> Self {
        Self {
            change,
            expected: attempt_id,
            becomes: attempt_id,
            lasts,
            codec: CODEC_JSON,
            result: None,
            failure: None,
        }
    }

    /// Returns whether this write has been made: the record has its result, payload included. A different end
    /// of the same attempt is a different write.
    pub(crate) fn stands_in(&self, record: &Record) -> bool {
        record.attempt_id == self.becomes
            && record.status == self.change.to()
            && record.result.as_deref() == self.result
            && record.failure.as_deref() == self.failure
    }
}

/// Refuses a connection inside a transaction, because its end could roll the lease back.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(super) fn check_outside<S: Session>(conn: &S) -> Result<(), CommitError> {
    if conn.has_transaction() {
        Err(CommitError::RolledBack(Error::LeaseInTransaction))
    } else {
        Ok(())
    }
}

/// Sends COMMIT if something was written, and ROLLBACK if nothing was.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(super) async fn end<DB: Backend, T>(
    tx: Transaction<'_, DB>,
    done: Result<(T, bool), Error>,
) -> Result<T, CommitError> {
    match done {
        Ok((answer, true)) => DB::commit(tx).await.map(|()| answer),
        Ok((answer, false)) => {
            let ended = DB::roll_back(tx).await;
            ended.map_err(|error| CommitError::RolledBack(DB::map_error(error)))?;
            Ok(answer)
        }
        Err(error) => {
            // If the ROLLBACK fails, the end of the session rolls back.
            let _ = DB::roll_back(tx).await;
            Err(CommitError::RolledBack(error))
        }
    }
}

/// Lapsed leases that nobody has asked for since.
#[derive(Debug, Clone, Copy)]
pub struct Overdue<'a> {
    pub(crate) table: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) operation: &'a str,
    /// The retention of a released record, in microseconds.
    pub(crate) retention: i64,
    /// The attempt that a released record carries.
    pub(crate) becomes: AttemptId,
    pub(crate) limit: u32,
}

/// A lease whose heartbeat is due.
#[derive(Clone, Copy)]
pub struct Due<'a> {
    pub(crate) identity: &'a Identity,
    pub(crate) attempt_id: AttemptId,
    /// Microseconds, counted from the statement.
    pub(crate) lasts: i64,
}

/// The outcome of extending leases. A lease in neither list no longer belongs to its attempt.
#[derive(Debug, Default)]
pub struct Extended {
    /// The leases that last their whole length again.
    pub(crate) extended: HashSet<AttemptId>,
    /// The leases whose record another transaction had locked, and that still belong to their attempts.
    pub(crate) locked: HashSet<AttemptId>,
}

impl Extended {
    /// Returns the leases that were due and were not extended.
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    pub(super) fn missing<'d>(&self, due: &[Due<'d>]) -> Vec<Due<'d>> {
        let missing = due.iter().copied();
        missing
            .filter(|due| !self.extended.contains(&due.attempt_id))
            .collect()
    }
}
