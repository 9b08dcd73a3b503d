//! Reconciliation: finding unknown outcomes, and settling them.
//!
//! An outcome is unknown where a lease lapsed, or a body panicked, under
//! [`OnLapse::Unknown`](crate::values::policy::OnLapse::Unknown), where the attempt itself said so, or where what it
//! came to could not be recorded. The record keeps the request (up to a limit), and the external key that the attempt gave its provider: with either,
//! somebody asks the provider what happened, and settles the record by one compare-and-swap. From
//! then on the attempt that was late is fenced off.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::bound::Bound;
use super::claim::ClaimRequest;
use super::lease::{LeaseSession, Overdue, Page, UnknownRecord, Write};
use super::leased::{certain, write_fenced};
use super::session::Purgeable;
use crate::decision::Change;
use crate::values::error::Error;
use crate::values::failure::StoredFailure;
use crate::values::key::{IdempotencyKey, Scope};
use crate::values::payload::{decode_request, encode};
use crate::values::record::{AttemptId, Record, Status, Timestamp};

/// A key whose outcome is unknown, as it was seen. Settling it succeeds only if it still stands so.
#[derive(Debug, Clone)]
pub struct Unknown {
    claim_request: ClaimRequest<()>,
    record: Record,
    settles_as: AttemptId,
}

impl Unknown {
    fn new(claim_request: ClaimRequest<()>, record: Record) -> Self {
        Self {
            claim_request,
            record,
            settles_as: AttemptId::random(),
        }
    }

    /// The key, with its scope.
    pub fn key(&self) -> IdempotencyKey {
        let identity = &self.claim_request.identity;
        identity.key().clone().scoped(identity.scope().clone())
    }

    /// The operation that the attempt was at.
    pub fn operation(&self) -> &str {
        &self.record.operation
    }

    /// The attempt, as [`Error::OutcomeUnknown`] names it.
    pub fn attempt_id(&self) -> AttemptId {
        self.record.attempt_id
    }

    /// Which attempt of the key it was, from 1.
    pub fn number(&self) -> i32 {
        self.record.attempt
    }

    /// What the attempt gave its provider; see
    /// [`Attempt::external_key`](crate::Attempt::external_key).
    pub fn external_key(&self) -> String {
        self.claim_request.identity.external_key("")
    }

    /// As [`external_key`](Self::external_key), for one of several steps; see
    /// [`Attempt::external_key_for`](crate::Attempt::external_key_for).
    pub fn external_key_for(&self, step: &str) -> String {
        self.claim_request.identity.external_key(step)
    }

    /// When its attempt claimed the key, by the database's clock.
    pub fn claimed_at(&self) -> Timestamp {
        self.record.created_at
    }

    /// The end of its lease, by the database's clock.
    pub fn locked_until(&self) -> Option<Timestamp> {
        self.record.locked_until
    }

    /// The canonical JSON of the request, as compared: of a handler an object with a member for each
    /// parameter; 1000 is `1e3` in it, which decoders into integers refuse and
    /// [`decode_request`](Self::decode_request) does not. `None` if the operation compares nothing, or the
    /// request was [too large](Self::request_too_large) to be kept.
    pub fn request(&self) -> Option<&[u8]> {
        self.record.request.as_deref()
    }

    /// Whether the request was longer than what is kept: the record has its hash alone, and the provider
    /// is to be asked by [`external_key`](Self::external_key).
    pub fn request_too_large(&self) -> bool {
        self.record.request_too_large
    }

    /// The request, decoded.
    ///
    /// # Errors
    /// [`Error::IncompatibleState`] if it is no `Q`.
    pub fn decode_request<Q: DeserializeOwned>(&self) -> Result<Option<Q>, Error> {
        self.request()
            .map(|bytes| decode_request(self.operation(), bytes))
            .transpose()
    }
}

impl<S: LeaseSession, Req, Res> Bound<'_, S, Req, Res> {
    /// Up to `limit` unknown outcomes of this namespace, the oldest lapse first; `after` is the last
    /// of the page before.
    ///
    /// Lapses that no caller has seen are not among them: see
    /// [`lapse_overdue`](Self::lapse_overdue).
    ///
    /// # Errors
    /// The database's; [`Error::UnknownState`] for a record that this build does not understand.
    pub async fn list_unknown(
        &mut self,
        limit: u32,
        after: Option<&Unknown>,
    ) -> Result<Vec<Unknown>, Error> {
        let after = after.and_then(|last| {
            let identity = &last.claim_request.identity;
            let until = last.locked_until()?;
            Some((until, identity.scope().as_str(), identity.key().as_str()))
        });
        let page = Page {
            table: &self.store.table,
            namespace: self.store.namespace.as_str(),
            limit,
            after,
        };
        let listed = self.conn.unknown(&page).await?;
        listed.into_iter().map(|one| self.found(one)).collect()
    }

    /// Counts the unknown outcomes of this namespace, for an alarm: they never leave by time unless
    /// somebody says so.
    ///
    /// # Errors
    /// The database's.
    pub async fn count_unknown(&mut self) -> Result<u64, Error> {
        let namespace = self.store.namespace.as_str();
        self.conn.count_unknown(&self.store.table, namespace).await
    }

    /// Deletes up to `limit` unknown outcomes of the table, of every namespace, whose lease ended longer
    /// ago than `retention`; returns how many. From then on a retry runs the body: after a time in which
    /// the clients have surely given up.
    ///
    /// # Errors
    /// The database's.
    pub async fn purge_unknown(&mut self, retention: Duration, limit: u32) -> Result<u64, Error> {
        let ago = i64::try_from(retention.as_micros()).unwrap_or(i64::MAX);
        let purgeable = Purgeable::Unknown(ago);
        self.conn.purge(&self.store.table, purgeable, limit).await
    }

    /// The key's unknown outcome; `None` if it has no record, or one of another status.
    ///
    /// # Errors
    /// [`Error::ScopeMissing`] for a key that says no scope; and the database's.
    pub async fn look_up(&mut self, key: &IdempotencyKey) -> Result<Option<Unknown>, Error> {
        let claim_request =
            ClaimRequest::new(self.store.table.clone(), self.identity(key, "look_up")?);
        let found = self.conn.look_up(&claim_request.on_connection()).await?;
        Ok(found
            .lookup
            .record
            .filter(|record| record.status == Status::Unknown)
            .map(|record| Unknown::new(claim_request, record)))
    }

    /// Makes of up to `limit` leases of `operation` that have lapsed without any caller seeing it what
    /// the policy says that they were claimed under; returns of how many.
    ///
    /// Under [`OnLapse::Unknown`] they become unknown, as the next caller would make them: run it before
    /// [`list_unknown`](Self::list_unknown), so that a key which nobody asks for again is found. Under
    /// [`OnLapse::Retry`] they are released: the next caller runs the body, and if none comes, a purge
    /// deletes the record after this store's retention.
    ///
    /// # Errors
    /// [`Error::LeaseInTransaction`] inside a transaction; and the database's.
    ///
    /// [`OnLapse::Unknown`]: crate::values::policy::OnLapse::Unknown
    /// [`OnLapse::Retry`]: crate::values::policy::OnLapse::Retry
    pub async fn lapse_overdue(&mut self, operation: &str, limit: u32) -> Result<u64, Error> {
        let overdue = Overdue {
            table: &self.store.table,
            namespace: self.store.namespace.as_str(),
            operation,
            retention: self.store.retention_micros(),
            becomes: AttemptId::random(),
            limit,
        };
        self.conn.lapse(&overdue).await.map_err(certain)
    }

    /// The effect happened, and this is its result: every retry replays it.
    ///
    /// # Errors
    /// [`Error::LeaseLost`] if the outcome is no longer unknown: its attempt has completed late, or
    /// it is settled already, by somebody else or otherwise; [`Error::NotStorable`];
    /// [`Error::LeaseInTransaction`]; and the database's, after which the same may be repeated.
    pub async fn resolve_completed(&mut self, unknown: &Unknown, result: &Res) -> Result<(), Error>
    where
        Res: Serialize + DeserializeOwned,
    {
        let (bytes, _) = encode(unknown.operation(), result)?;
        let write = Write {
            result: Some(&bytes),
            ..self.settling(unknown, Status::Completed)
        };
        self.settle(unknown, write).await
    }

    /// The effect failed for good: every retry replays the failure.
    ///
    /// # Errors
    /// As [`resolve_completed`](Self::resolve_completed).
    pub async fn resolve_failed(
        &mut self,
        unknown: &Unknown,
        failure: &StoredFailure,
    ) -> Result<(), Error> {
        let (bytes, _) = encode(unknown.operation(), failure)?;
        let write = Write {
            failure: Some(&bytes),
            ..self.settling(unknown, Status::Failed)
        };
        self.settle(unknown, write).await
    }

    /// The effect never happened: the next caller runs the body.
    ///
    /// # Errors
    /// As [`resolve_completed`](Self::resolve_completed).
    pub async fn resolve_never_happened(&mut self, unknown: &Unknown) -> Result<(), Error> {
        let write = self.settling(unknown, Status::Released);
        self.settle(unknown, write).await
    }

    fn settling(&self, unknown: &Unknown, status: Status) -> Write<'static> {
        Write {
            becomes: unknown.settles_as,
            ..Write::own(
                Change::Settle(status),
                unknown.attempt_id(),
                self.store.retention_micros(),
            )
        }
    }

    async fn settle(&mut self, unknown: &Unknown, write: Write<'_>) -> Result<(), Error> {
        write_fenced(self.conn, &unknown.claim_request.on_connection(), &write)
            .await
            .map_err(certain)
    }

    fn found(&self, listed: UnknownRecord) -> Result<Unknown, Error> {
        let scope = if listed.scope.is_empty() {
            Scope::GLOBAL
        } else {
            Scope::new(listed.scope)?
        };
        let key = listed.key.parse::<IdempotencyKey>()?.scoped(scope);
        let claim_request = ClaimRequest::new(
            self.store.table.clone(),
            self.identity(&key, "list_unknown")?,
        );
        Ok(Unknown::new(claim_request, listed.record))
    }
}
