//! A store bound to the caller's connection for a moment.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::claim::{ClaimRequest, Found};
use super::hold::decide_held;
use super::session::{BodyWrites, ClaimOf, NewRecord, Purgeable, RequestOf, Session, Written};
use super::typed::Store;
use crate::decision::{DecideInput, Decision, Opener, Outcome, TypedMismatch, unknown};
use crate::values::codec::{Binding, CallCodec, Column};
use crate::values::error::{Error, Field, Mismatch};
use crate::values::failure::StoredFailure;
use crate::values::fingerprint::{Fingerprint, canonical_json};
use crate::values::identity::Identity;
use crate::values::key::{IdempotencyKey, limits, text};
use crate::values::payload::{PayloadKind, decode_request};
use crate::values::policy::DEFAULT_RETRY_AFTER;
use crate::values::record::{AttemptId, Record, Status, stored_request};

/// A store on one connection. See [`Store`].
#[derive(Debug)]
pub struct Bound<'s, S, Req, Res> {
    pub(super) store: &'s Store<Req, Res>,
    pub(super) conn: &'s mut S,
}

/// The right to record one result, valid only in the transaction that made it. A claim is ended by exactly one
/// of [`commit`](Bound::commit), [`fail_permanent`](Bound::fail_permanent) and
/// [`fail_transient`](Bound::fail_transient), or by rolling its transaction back.
///
/// Several claims of one transaction are ended last first, as calls return. On SQLite the ownership check of
/// each is a savepoint, and savepoints nest: a claim that is ended before a later one ends that one too, which
/// then answers [`Error::TransactionEnded`].
///
/// After a rollback, drop the claim: it is worth nothing then. On SQLite, which has no lock to ask, its key is
/// in flight for this process for as long as the claim is kept.
#[must_use = "end the claim with commit, fail_permanent or fail_transient, or roll its transaction back"]
pub struct StoreClaim<S: Session> {
    held: ClaimOf<S>,
    operation: String,
    fingerprint: Fingerprint,
    call_codec: CallCodec,
    request: Option<Vec<u8>>,
    replaces: Option<AttemptId>,
    attempt: i32,
}

impl<S: Session> fmt::Debug for StoreClaim<S> {
    /// Shows the attempt, and neither the key nor the request.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreClaim")
            .field("attempt_id", &self.held.request.attempt_id)
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}

impl<S: Session> StoreClaim<S> {
    /// Returns the attempt's id, which the record will carry.
    pub fn attempt_id(&self) -> AttemptId {
        self.held.request.attempt_id
    }
}

impl<Req, Res> Store<Req, Res> {
    /// Binds to a connection that has an open transaction, as its driver knows it.
    ///
    /// # Errors
    /// [`Error::NotInTransaction`] if it has none. The driver does not know a transaction that was begun by
    /// hand (`BEGIN` as a statement): use [`in_connection`](Self::in_connection) for that.
    pub fn in_transaction<'s, S: Session>(
        &'s self,
        conn: &'s mut S,
    ) -> Result<Bound<'s, S, Req, Res>, Error> {
        if conn.has_transaction() {
            Ok(self.in_connection(conn))
        } else {
            Err(Error::NotInTransaction)
        }
    }

    /// Binds to any connection. The caller is responsible for its transaction: without one, replays are
    /// answered and a fresh key is refused with [`Error::NotInTransaction`].
    pub fn in_connection<'s, S: Session>(&'s self, conn: &'s mut S) -> Bound<'s, S, Req, Res> {
        Bound::new(self, conn)
    }
}

impl<'s, S: Session, Req, Res> Bound<'s, S, Req, Res> {
    fn new(store: &'s Store<Req, Res>, conn: &'s mut S) -> Self {
        Self { store, conn }
    }

    /// Claims the key, or returns the outcome of an earlier attempt. `operation` is the handler's stable name:
    /// a key that was used with another operation is a mismatch.
    ///
    /// # Errors
    /// [`Error::ScopeMissing`] for a key without a scope; [`Error::Invalid`] for a request that cannot be
    /// compared, or an operation that is blank, longer than 255 characters, or has control characters;
    /// [`Error::IncompatibleState`] for a recorded result that is no `Res`; [`Error::NestedSameKey`] if this
    /// very transaction holds the claim; [`Error::NotInTransaction`] for a fresh key outside a transaction;
    /// [`Error::OutcomeUnknown`]; and the database's.
    pub async fn begin(
        &mut self,
        key: &IdempotencyKey,
        operation: &str,
        request: &Req,
    ) -> Result<Outcome<StoreClaim<S>, Req, Res>, Error>
    where
        Req: Serialize + DeserializeOwned,
        Res: DeserializeOwned,
    {
        text::check(Field::Operation, operation, limits::OPERATION_MAX)?;
        let canonical = canonical_json(request)?;
        let call_codec = CallCodec::of(self.store.codec)?;
        let identity = self.identity(&call_codec, key, operation)?;
        let claim_request = ClaimRequest::new(self.store.table.clone(), identity);
        let input = DecideInput {
            namespace: self.store.namespace.as_str(),
            operation,
            request: Some(&canonical),
            fingerprint: None,
            expiry: self.store.expiry,
            lease_holder: None,
            opener: Opener::of(call_codec.protection(), &claim_request.identity),
        };
        let Found {
            lookup,
            claim: held,
        } = self.conn.claim(&claim_request).await?;
        match decide_held(self.conn, &held.request, lookup, input).await? {
            Decision::Run {
                replaces, attempt, ..
            } => {
                let fingerprint =
                    call_codec.fingerprint(&held.request.identity, operation, &canonical)?;
                if !held.verified {
                    self.conn.verify(&held).await?;
                }
                self.conn.set_savepoint(&held, false).await?;
                Ok(Outcome::Fresh(StoreClaim {
                    held,
                    operation: operation.to_owned(),
                    fingerprint,
                    call_codec,
                    request: self
                        .store
                        .record_request
                        .then(|| stored_request(&canonical, self.store.request_limit).to_vec()),
                    replaces,
                    attempt,
                }))
            }
            decision => answered(self.store, decision),
        }
    }

    /// Records the result, and returns it as it is recorded. It is final once the caller commits.
    ///
    /// Answer with the returned result: every retry gets the same. JSON loses some things silently, such as
    /// `Some(())` of an `Option<()>` or a field under `#[serde(skip)]`.
    ///
    /// # Errors
    /// [`Error::TransactionEnded`] if the transaction that claimed is over; [`Error::TransactionAborted`] if a
    /// statement in it had failed; [`Error::FreshTransactionNeeded`] if another attempt has won;
    /// [`Error::NotStorable`]; [`Error::TooLargeToRecord`]; and the database's. After an error, roll the transaction back.
    pub async fn commit(&mut self, claim: StoreClaim<S>, result: &Res) -> Result<Res, Error>
    where
        Res: Serialize + DeserializeOwned,
    {
        let (bytes, recorded) = self.store.results().encode(
            self.store.result_limit,
            PayloadKind::Result,
            &claim.operation,
            result,
        )?;
        self.record(claim, Status::Completed, &bytes).await?;
        Ok(recorded)
    }

    /// Records a permanent failure, to be replayed. The caller is responsible for its own writes: they are kept
    /// if it commits.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub async fn fail_permanent(
        &mut self,
        claim: StoreClaim<S>,
        failure: &StoredFailure,
    ) -> Result<(), Error> {
        let (bytes, _) = self.store.failures().encode(
            self.store.result_limit,
            PayloadKind::Failure,
            &claim.operation,
            failure,
        )?;
        self.record(claim, Status::Failed, &bytes).await
    }

    /// Gives the claim back: nothing is recorded, and the key is fresh for the next caller.
    ///
    /// # Errors
    /// [`Error::TransactionEnded`] or [`Error::TransactionAborted`] if the transaction is no longer good; the
    /// claim is gone all the same.
    pub async fn fail_transient(&mut self, claim: StoreClaim<S>) -> Result<(), Error> {
        let claim_request = claim.held.request.clone();
        let released = self.conn.release(claim.held).await;
        self.or_withdraw(&claim_request, released).await
    }

    /// Reads a record, expired or not, for operators and status pages. Without the codec of its operation
    /// (`Store::codec`), encrypted and compressed payloads are returned as they are stored.
    ///
    /// # Errors
    /// [`Error::ScopeMissing`] for a key without a scope; [`Error::UnknownState`]; [`Error::Codec`] if the store's codec
    /// does not open the payloads; and the database's.
    pub async fn get(&mut self, key: &IdempotencyKey) -> Result<Option<Record>, Error> {
        let call_codec = CallCodec::of(self.store.codec)?;
        let identity = self.identity(&call_codec, key, "get")?;
        let claim_request = ClaimRequest::new(self.store.table.clone(), identity);
        let record = self.conn.look_up(&claim_request).await?.lookup.record;
        match Opener::of(call_codec.protection(), &claim_request.identity) {
            Some(opener) => record.map(|record| opener.open(record)).transpose(),
            None => Ok(record),
        }
    }

    /// Deletes up to `limit` expired records of the table, of every namespace, and returns the number deleted.
    ///
    /// # Errors
    /// The database's.
    pub async fn purge_expired(&mut self, limit: u32) -> Result<u64, Error> {
        self.conn
            .purge(&self.store.table, Purgeable::Expired, limit)
            .await
    }

    /// Returns the identity of a key of the caller's.
    pub(super) fn identity(
        &self,
        call_codec: &CallCodec,
        key: &IdempotencyKey,
        operation: &str,
    ) -> Result<Identity, Error> {
        self.store.identity(call_codec, key, operation)
    }

    async fn record(
        &mut self,
        claim: StoreClaim<S>,
        status: Status,
        payload: &[u8],
    ) -> Result<(), Error> {
        let failed = status == Status::Failed;
        let binding = Binding {
            identity: &claim.held.request.identity,
            operation: &claim.operation,
        };
        let column = if failed {
            Column::Failure
        } else {
            Column::Result
        };
        let attempt_id = claim.held.request.attempt_id;
        let protect = |column, json| claim.call_codec.protect(binding, column, attempt_id, json);
        let request = claim.request.as_deref();
        let request = request.map(|request| protect(Column::Request, request));
        let (request, payload) = (request.transpose()?, protect(column, payload)?);
        let record = NewRecord {
            status,
            operation: &claim.operation,
            fingerprint: Some(claim.fingerprint),
            format: claim.call_codec.format(),
            request: request.as_deref(),
            result: (!failed).then_some(&*payload),
            failure: failed.then_some(&*payload),
            retention: self.store.retention_micros(),
            replaces: claim.replaces,
            attempt: claim.attempt,
        };
        let written = match self
            .conn
            .release_savepoint(&claim.held, BodyWrites::Keep)
            .await
        {
            Ok(()) => self.conn.write(&claim.held, &record).await,
            Err(error) => Err(error),
        };
        match self.or_withdraw(&claim.held.request, written).await? {
            Written::Done => Ok(()),
            Written::Conflict => Err(Error::FreshTransactionNeeded),
        }
    }

    /// Gives up a claim whose transaction the caller ended without it, with any row that the claim left.
    async fn or_withdraw<T>(
        &mut self,
        claim_request: &RequestOf<S>,
        ended: Result<T, Error>,
    ) -> Result<T, Error> {
        if matches!(ended, Err(Error::TransactionEnded)) {
            self.conn.withdraw(claim_request).await?;
        }
        ended
    }
}

/// Returns the outcome of a decision that runs nothing.
pub(super) fn answered<C, Req, Res>(
    store: &Store<Req, Res>,
    decision: Decision,
) -> Result<Outcome<C, Req, Res>, Error>
where
    Req: DeserializeOwned,
    Res: DeserializeOwned,
{
    match decision {
        Decision::Replay(record) => Ok(Outcome::PriorResult {
            value: store.decode_result(&record)?,
        }),
        Decision::ReplayFailure(record) => Ok(Outcome::PriorError {
            error: store.decode_failure(&record)?,
        }),
        Decision::Refuse(Error::InFlight { retry_after, .. }) => {
            Ok(Outcome::InFlight { retry_after })
        }
        Decision::Refuse(Error::Mismatch(mismatch)) => Ok(Outcome::Mismatch(typed(*mismatch))),
        Decision::Refuse(error) => Err(error),
        Decision::Lapse(record) => Err(unknown(&record)),
        // The caller did not act on the decision: the key is not free for any other caller meanwhile.
        Decision::Run { .. } | Decision::TakeOver { .. } | Decision::AlreadyHeld { .. } => {
            Ok(Outcome::InFlight {
                retry_after: DEFAULT_RETRY_AFTER,
            })
        }
    }
}

fn typed<Req: DeserializeOwned>(mismatch: Mismatch) -> TypedMismatch<Req> {
    let recorded_request = mismatch
        .recorded_request
        .as_deref()
        .map(|bytes| decode_request(&mismatch.recorded_operation, bytes));
    TypedMismatch {
        recorded_request,
        recorded_request_too_large: mismatch.recorded_request_too_large,
        recorded_operation: mismatch.recorded_operation,
        submitted_operation: mismatch.submitted_operation,
        recorded_hash: mismatch.recorded_hash,
        submitted_hash: mismatch.submitted_hash,
        differs_in_order_only: mismatch.differs_in_order_only,
        differing: mismatch.differing,
    }
}
