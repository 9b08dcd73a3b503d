//! Reconciliation: finds unknown outcomes, and settles them.
//!
//! An outcome is unknown if a lease lapsed or a body panicked under
//! [`OnLapse::Unknown`](crate::values::policy::OnLapse::Unknown), if the attempt itself said so, or if the
//! result of the attempt could not be recorded. The record keeps the request (up to a limit), and the external
//! key that the attempt gave its provider. With either, somebody asks the provider what happened, and settles
//! the record by one compare-and-swap. From then on the late attempt is fenced off.

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::bound::Bound;
use super::claim::ClaimRequest;
use super::lapsed::{Page, UnknownRecord};
use super::lease::{LeaseSession, Overdue, Write};
use super::leased::{certain, write_fenced};
use super::session::Purgeable;
use crate::decision::{Change, Opener};
use crate::values::codec::{Binding, CallCodec, Column};
use crate::values::error::{CodecFault, Error};
use crate::values::failure::StoredFailure;
use crate::values::identity::Identity;
use crate::values::key::{IdempotencyKey, Scope};
use crate::values::payload::{PayloadKind, decode_request};
use crate::values::record::{AttemptId, CODEC_JSON, Record, Status, Timestamp};

/// A key whose outcome is unknown, as it was read. It can be settled only if its record is still the same.
#[derive(Debug, Clone)]
pub struct Unknown {
    claim_request: ClaimRequest<()>,
    record: Record,
    /// Whether the request is in the record as JSON.
    is_open: bool,
    /// Why the store's codec did not open the request.
    fault: Option<CodecFault>,
    settles_as: AttemptId,
}

impl Unknown {
    fn new(claim_request: ClaimRequest<()>, mut record: Record, call_codec: &CallCodec) -> Self {
        let opener = Opener::of(call_codec.protection(), &claim_request.identity);
        let (mut is_open, mut fault) = (record.codec == CODEC_JSON, None);
        if let Some(opener) = opener {
            match opener.open_request(&record) {
                Ok(request) => (is_open, record.request) = (true, request),
                // The outcome can be settled all the same: the provider is asked by the external key.
                Err(Error::Codec(found)) => (is_open, fault) = (false, Some(found)),
                Err(_) => is_open = false,
            }
        }
        Self {
            claim_request,
            record,
            is_open,
            fault,
            settles_as: AttemptId::random(),
        }
    }

    /// Returns the key, with its scope, as the table holds them: a codec may hash them.
    pub fn key(&self) -> IdempotencyKey {
        let identity = &self.claim_request.identity;
        identity.key().clone().scoped(identity.scope().clone())
    }

    /// Returns the operation that the attempt ran.
    pub fn operation(&self) -> &str {
        &self.record.operation
    }

    /// Returns the attempt's id, as [`Error::OutcomeUnknown`] names it.
    pub fn attempt_id(&self) -> AttemptId {
        self.record.attempt_id
    }

    /// Returns the number of the attempt among those of the key, from 1.
    pub fn number(&self) -> i32 {
        self.record.attempt
    }

    /// Returns the key that the attempt gave its provider; see
    /// [`Attempt::external_key`](crate::Attempt::external_key).
    pub fn external_key(&self) -> String {
        self.claim_request.identity.external_key("")
    }

    /// Returns the [`external_key`](Self::external_key) of one of several steps; see
    /// [`Attempt::external_key_for`](crate::Attempt::external_key_for).
    pub fn external_key_for(&self, step: &str) -> String {
        self.claim_request.identity.external_key(step)
    }

    /// Returns the time at which the attempt claimed the key, by the database's clock.
    pub fn claimed_at(&self) -> Timestamp {
        self.record.created_at
    }

    /// Returns the end of the attempt's lease, by the database's clock.
    pub fn locked_until(&self) -> Option<Timestamp> {
        self.record.locked_until
    }

    /// Returns the canonical JSON of the request, as it is compared. For a handler it is an object with a
    /// member for each parameter. It writes 1000 as `1e3`, which decoders into integers refuse and
    /// [`decode_request`](Self::decode_request) accepts. Returns `None` if the operation compares nothing, or
    /// if the request was [too large](Self::request_too_large) to be kept, or is
    /// [protected](Self::request_is_protected).
    pub fn request(&self) -> Option<&[u8]> {
        self.record.request.as_deref().filter(|_| self.is_open)
    }

    /// Returns whether the record has a request that this store cannot open: it is encrypted or compressed, and the
    /// store has no codec (`Store::codec`), or not the key. [`decode_request`](Self::decode_request) says why.
    pub fn request_is_protected(&self) -> bool {
        self.record.request.is_some() && !self.is_open
    }

    /// Returns whether the request was too long to be kept. The record then has its hash alone, and the
    /// provider is to be asked by [`external_key`](Self::external_key).
    pub fn request_too_large(&self) -> bool {
        self.record.request_too_large
    }

    /// Returns the request, decoded.
    ///
    /// # Errors
    /// [`Error::IncompatibleState`] if it is no `Q`; [`Error::Codec`] or [`Error::UnknownState`] if it is
    /// [protected](Self::request_is_protected).
    pub fn decode_request<Q: DeserializeOwned>(&self) -> Result<Option<Q>, Error> {
        if self.request_is_protected() {
            return Err(self.protected());
        }
        self.request()
            .map(|bytes| decode_request(self.operation(), bytes))
            .transpose()
    }

    /// Returns why the request is protected.
    fn protected(&self) -> Error {
        match &self.fault {
            Some(fault) => fault.clone().into(),
            None => Error::UnknownState {
                what: "codec",
                value: self.record.codec.into(),
            },
        }
    }
}

impl<S: LeaseSession, Req, Res> Bound<'_, S, Req, Res> {
    /// Returns up to `limit` unknown outcomes of this namespace, the oldest lapse first. `after` is the last
    /// one of the previous page.
    ///
    /// Lapses that no caller has seen are not among them: see [`lapse_overdue`](Self::lapse_overdue).
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
        let call_codec = CallCodec::of(self.store.codec)?;
        let listed = self.conn.unknown(&page).await?;
        let found = listed.into_iter().map(|one| self.found(one, &call_codec));
        found.collect()
    }

    /// Counts the unknown outcomes of this namespace, for an alarm: they never expire unless somebody asks for
    /// it.
    ///
    /// # Errors
    /// The database's.
    pub async fn count_unknown(&mut self) -> Result<u64, Error> {
        let namespace = self.store.namespace.as_str();
        self.conn.count_unknown(&self.store.table, namespace).await
    }

    /// Deletes up to `limit` unknown outcomes of the table, of every namespace, whose lease ended longer ago
    /// than `retention`, and returns the number deleted. From then on a retry runs the body: choose a time
    /// after which the clients have surely given up.
    ///
    /// # Errors
    /// The database's.
    pub async fn purge_unknown(&mut self, retention: Duration, limit: u32) -> Result<u64, Error> {
        let ago = i64::try_from(retention.as_micros()).unwrap_or(i64::MAX);
        let purgeable = Purgeable::Unknown(ago);
        self.conn.purge(&self.store.table, purgeable, limit).await
    }

    /// Returns the key's unknown outcome; `None` if it has no record, or one of another status.
    ///
    /// # Errors
    /// [`Error::ScopeMissing`] for a key without a scope; and the database's.
    pub async fn look_up(&mut self, key: &IdempotencyKey) -> Result<Option<Unknown>, Error> {
        let call_codec = CallCodec::of(self.store.codec)?;
        let identity = self.identity(&call_codec, key, "look_up")?;
        let claim_request = ClaimRequest::new(self.store.table.clone(), identity);
        let found = self.conn.look_up(&claim_request.on_connection()).await?;
        Ok(found
            .lookup
            .record
            .filter(|record| record.status == Status::Unknown)
            .map(|record| Unknown::new(claim_request, record, &call_codec)))
    }

    /// Changes up to `limit` leases of `operation` that have lapsed without any caller seeing it, by the policy
    /// under which they were claimed, and returns the number changed.
    ///
    /// Under [`OnLapse::Unknown`] they become unknown, as the next caller would make them. Run it before
    /// [`list_unknown`](Self::list_unknown), so that a key that nobody asks for again is found. Under
    /// [`OnLapse::Retry`] they are released: the next caller runs the body, and if none comes, a purge deletes
    /// the record after this store's retention.
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

    /// Records that the effect happened, with this result: every retry replays it.
    ///
    /// # Errors
    /// [`Error::LeaseLost`] if the outcome is no longer unknown: its attempt has completed late, or it is
    /// settled already, by somebody else or otherwise; [`Error::NotStorable`]; [`Error::TooLargeToRecord`]; [`Error::LeaseInTransaction`];
    /// [`Error::UnknownState`] if the record's operation has a codec and this store has none;
    /// and the database's, after which the same may be repeated.
    pub async fn resolve_completed(&mut self, unknown: &Unknown, result: &Res) -> Result<(), Error>
    where
        Res: Serialize + DeserializeOwned,
    {
        let (bytes, _) = self.store.results().encode(
            self.store.result_limit,
            PayloadKind::Result,
            unknown.operation(),
            result,
        )?;
        let (codec, protected) = self.protect(unknown, Column::Result, &bytes)?;
        let write = Write {
            codec,
            result: Some(&protected),
            ..self.settling(unknown, Status::Completed)
        };
        self.settle(unknown, write).await
    }

    /// Records that the effect failed for good: every retry replays the failure.
    ///
    /// # Errors
    /// As [`resolve_completed`](Self::resolve_completed).
    pub async fn resolve_failed(
        &mut self,
        unknown: &Unknown,
        failure: &StoredFailure,
    ) -> Result<(), Error> {
        let (bytes, _) = self.store.failures().encode(
            self.store.result_limit,
            PayloadKind::Failure,
            unknown.operation(),
            failure,
        )?;
        let (codec, protected) = self.protect(unknown, Column::Failure, &bytes)?;
        let write = Write {
            codec,
            failure: Some(&protected),
            ..self.settling(unknown, Status::Failed)
        };
        self.settle(unknown, write).await
    }

    /// Records that the effect never happened: the next caller runs the body.
    ///
    /// # Errors
    /// As [`resolve_completed`](Self::resolve_completed).
    pub async fn resolve_never_happened(&mut self, unknown: &Unknown) -> Result<(), Error> {
        let write = self.settling(unknown, Status::Released);
        self.settle(unknown, write).await
    }

    /// Returns a payload as the record holds it, and the codec. A record of an operation with a codec gets no payload in
    /// clear.
    fn protect<'b>(
        &self,
        unknown: &Unknown,
        column: Column,
        json: &'b [u8],
    ) -> Result<(i16, Cow<'b, [u8]>), Error> {
        let call_codec = CallCodec::of(self.store.codec)?;
        if call_codec.protection().is_none() && unknown.record.codec != CODEC_JSON {
            return Err(unknown.protected());
        }
        let binding = Binding {
            identity: &unknown.claim_request.identity,
            operation: unknown.operation(),
        };
        let protected = call_codec.protect(binding, column, unknown.settles_as, json)?;
        // JSON is a form of the other codec too, and the request of the record keeps its own.
        let codec = call_codec.format().codec.max(unknown.record.codec);
        Ok((codec, protected))
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

    fn found(&self, listed: UnknownRecord, call_codec: &CallCodec) -> Result<Unknown, Error> {
        let scope = if listed.scope.is_empty() {
            Scope::GLOBAL
        } else {
            Scope::new(listed.scope)?
        };
        // They are as the table holds them: a codec must not hash them again.
        let key = listed.key.parse::<IdempotencyKey>()?;
        let identity = Identity::new(&self.store.namespace, scope, key);
        let claim_request = ClaimRequest::new(self.store.table.clone(), identity);
        Ok(Unknown::new(claim_request, listed.record, call_codec))
    }
}
