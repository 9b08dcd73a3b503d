//! The inputs of one call, computed once before the body runs.

use std::borrow::Cow;
use std::time::Instant;

use super::decoded_answer::Withheld;
use super::switched_off::Switch;
use crate::calls::telemetry::{Call, Observed, PANICKED};
use crate::decision::{DecideInput, Opener};
use crate::stores::ClaimRequest;
use crate::values::codec::CallCodec;
use crate::values::error::{Error, Field, Invalid};
use crate::values::fingerprint::{Fingerprint, RequestFields, canonical_json};
use crate::values::identity::{Identity, LockKey};
use crate::values::key::{IdempotencyKey, KeySource, Scope, ScopeSource, limits, text};
use crate::values::operation::Operation;
use crate::values::record::{AttemptId, Record, stored_request};
use crate::values::spec::OperationSpec;

/// A value that is compared on a retry. Implemented for every type that is `Serialize`.
#[diagnostic::on_unimplemented(
    message = "this parameter is compared on a retry, and `{Self}` does not implement `Serialize`",
    label = "derive `serde::Serialize` for it, or leave the parameter out: `skip(..)`"
)]
pub trait Compared {
    #[doc(hidden)]
    fn add_to(&self, name: &'static str, fields: &mut RequestFields) -> Result<(), Invalid>;
    #[doc(hidden)]
    fn canonical(&self) -> Result<Vec<u8>, Invalid>;
}

impl<T: serde::Serialize + ?Sized> Compared for T {
    fn add_to(&self, name: &'static str, fields: &mut RequestFields) -> Result<(), Invalid> {
        fields.field(name, self)
    }

    fn canonical(&self) -> Result<Vec<u8>, Invalid> {
        canonical_json(self)
    }
}

/// One call of one operation. The methods collect its inputs; `settle` returns the first fault
/// among them.
pub struct Request {
    operation: OperationSpec,
    /// The operation's name in this call.
    name: Cow<'static, str>,
    key: Option<IdempotencyKey>,
    scope: Option<Scope>,
    /// `None` until a parameter is added.
    fields: Option<RequestFields>,
    projection: Option<Vec<u8>>,
    fault: Option<Invalid>,
    identity: Option<Identity>,
    /// The hash of table and identity, computed at the first attempt.
    lock_key: Option<LockKey>,
    canonical: Option<Vec<u8>>,
    fingerprint: Option<Fingerprint>,
    /// The key that the caller gave, with its scope, if the record holds a hash of it.
    clear_key: Option<IdempotencyKey>,
    /// What the operation's codec does with the record.
    call_codec: CallCodec,
    started: Instant,
    observed: Observed,
    /// Whether the call has begun and its event was not emitted yet.
    event_due: bool,
    waits: u32,
    /// Whether a function of the user's sees a replay before it is answered.
    is_reviewed: bool,
    /// The replay that waits for it.
    withheld: Option<Withheld>,
    switch: Switch,
}

impl Request {
    /// Creates a call of this operation.
    pub fn new<F>(operation: Operation<F>) -> Self {
        Self::of(operation.into())
    }

    /// Creates a call of an operation of either type.
    pub(crate) fn of(operation: OperationSpec) -> Self {
        Self {
            operation,
            name: Cow::Borrowed(operation.name()),
            key: None,
            scope: None,
            fields: None,
            projection: None,
            fault: None,
            identity: None,
            lock_key: None,
            canonical: None,
            fingerprint: None,
            clear_key: None,
            call_codec: CallCodec::default(),
            started: Instant::now(),
            observed: Observed::of(&operation),
            event_due: false,
            waits: 0,
            is_reviewed: false,
            withheld: None,
            switch: Switch::of_this_call(),
        }
    }

    /// Sets the key.
    pub fn key<K: KeySource + ?Sized>(&mut self, key: &K) {
        if self.switch.is_off() {
            return;
        }
        match key.idempotency_key() {
            Ok(key) => self.key = key,
            Err(fault) => self.fail(fault),
        }
    }

    /// Gives the call a key of its own if idempotency is off: a lease cannot be held without one.
    pub(crate) fn needs_a_claim(&mut self) {
        if self.switch.is_off() {
            let own = IdempotencyKey::checked(&AttemptId::random().as_uuid().to_string());
            self.key = own.ok().map(IdempotencyKey::global);
        }
    }

    /// Returns whether the call runs without idempotency: it has no key and needs none. Faults in
    /// the values to compare are then ignored.
    fn is_unkeyed(&self) -> bool {
        self.key.is_none() && (!self.operation.policy().key_required || self.switch.is_off())
    }

    /// Sets the operation's name, if it is determined by each call. Must come after the key.
    pub fn named<N: AsRef<str> + ?Sized>(&mut self, name: &N) {
        if self.is_unkeyed() {
            return;
        }
        let name = name.as_ref();
        match text::check(Field::Operation, name, limits::OPERATION_MAX) {
            Ok(()) => self.name = Cow::Owned(name.to_owned()),
            Err(fault) => self.fail(fault),
        }
    }

    /// Sets the scope, replacing the one that the key carries. Must come after the key.
    pub fn scope<S: ScopeSource + ?Sized>(&mut self, scope: &S) {
        if self.is_unkeyed() {
            return;
        }
        match scope.scope() {
            Ok(scope) => self.scope = Some(scope),
            Err(fault) => self.fail(fault),
        }
    }

    /// Adds a compared parameter. Must come after the key.
    pub fn field<V: Compared + ?Sized>(&mut self, name: &'static str, value: &V) {
        if self.is_unkeyed() {
            return;
        }
        if let Err(fault) = value.add_to(name, self.fields.get_or_insert_default()) {
            self.fail(fault);
        }
    }

    /// Sets a value to compare instead of the parameters. Must come after the key.
    pub fn projection<V: Compared + ?Sized>(&mut self, value: &V) {
        if self.is_unkeyed() {
            return;
        }
        match value.canonical() {
            Ok(bytes) => self.projection = Some(bytes),
            Err(fault) => self.fail(fault),
        }
    }

    /// Makes this the call that a record was written for: its identity as it is stored, and its request.
    pub(crate) fn resume(&mut self, identity: Identity, canonical: Vec<u8>) -> Result<(), Error> {
        self.call_codec = CallCodec::of(self.operation.codec())?;
        let fingerprint = self
            .call_codec
            .fingerprint(&identity, &self.name, &canonical)?;
        (self.key, self.identity) = (None, Some(identity));
        (self.fingerprint, self.canonical) = (Some(fingerprint), Some(canonical));
        Ok(())
    }

    /// Stores a fault, unless an earlier one is stored.
    fn fail(&mut self, fault: Invalid) {
        self.fault.get_or_insert(fault);
    }

    /// Computes identity, canonical request and fingerprint. Returns `None` if the call has no key
    /// and needs none.
    fn settle(&mut self) -> Result<Option<&Identity>, Error> {
        if let Some(fault) = self.fault.take() {
            return Err(fault.into());
        }
        if let Some(key) = self.key.take() {
            let Some(scope) = self.scope.take().or_else(|| key.scope().cloned()) else {
                let operation = self.name.clone();
                return Err(Error::ScopeMissing { operation });
            };
            let namespace = self.operation.namespace();
            self.call_codec = CallCodec::of(self.operation.codec())?;
            if self.call_codec.hashes_names() {
                self.clear_key = Some(key.clone().scoped(scope.clone()));
            }
            let (scope, key) = self.call_codec.stored(namespace, scope, key)?;
            let identity = self
                .identity
                .insert(Identity::of_operation(namespace, scope, key));
            if self.operation.policy().fingerprint {
                let fields = self.fields.take();
                let canonical = self
                    .projection
                    .take()
                    .unwrap_or_else(|| fields.unwrap_or_default().into_canonical());
                let fingerprint = self
                    .call_codec
                    .fingerprint(identity, &self.name, &canonical)?;
                self.fingerprint = Some(fingerprint);
                self.canonical = Some(canonical);
            }
        }
        if self.identity.is_none() && !self.is_unkeyed() {
            return Err(Error::KeyMissing {
                operation: self.name.clone(),
            });
        }
        Ok(self.identity.as_ref())
    }

    /// Returns the request of a new attempt at this call's key, or `None` if the call has no key and
    /// needs none.
    pub(crate) fn claim_request<P>(
        &mut self,
        pool_traits: P,
    ) -> Result<Option<ClaimRequest<P>>, Error> {
        let table = self.operation.table_name();
        let Some(identity) = self.settle()?.cloned() else {
            return Ok(None);
        };
        let lock_key = *self
            .lock_key
            .get_or_insert_with(|| identity.lock_key(table));
        Ok(Some(ClaimRequest {
            table: table.into(),
            identity,
            lock_key,
            attempt_id: AttemptId::random(),
            pool_traits,
        }))
    }

    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    pub(crate) fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    /// Returns the key that the caller gave, if the record holds a hash of it.
    pub(crate) fn clear_key(&self) -> Option<&IdempotencyKey> {
        self.clear_key.as_ref()
    }

    /// Returns the key as its caller gave it, or `None` if only its hash is known.
    pub(super) fn caller_key(&self) -> Option<&IdempotencyKey> {
        let stored = self.identity().map(Identity::key);
        let is_hash = self.call_codec.hashes_names();
        self.clear_key().or_else(|| stored.filter(|_| !is_hash))
    }

    /// Starts the call: if it is dropped before another outcome is emitted, the event says
    /// `dropped` or `panicked`.
    pub(crate) fn begun(&mut self, waits: u32) {
        self.event_due = true;
        self.waits = waits;
    }

    /// Emits the call's event.
    pub(crate) fn emit(
        &mut self,
        outcome: &'static str,
        record: Option<&Record>,
        refusal: Option<&Error>,
    ) {
        self.event_due = false;
        let call = Call {
            operation: self.operation(),
            name: &self.name,
            identity: self.identity(),
            outcome,
            record,
            refusal,
            waits: self.waits,
            elapsed: self.started().elapsed(),
        };
        call.emit_in(&self.observed);
    }

    /// Lets a function of the user's see a replay before it is answered.
    pub fn review(&mut self) {
        self.is_reviewed = true;
    }

    pub(crate) fn is_reviewed(&self) -> bool {
        self.is_reviewed
    }

    pub(super) fn withhold(&mut self, withheld: Withheld) {
        self.withheld = Some(withheld);
    }

    pub(super) fn withholds(&self) -> bool {
        self.withheld.is_some()
    }

    pub(super) fn take_withheld(&mut self) -> Option<Withheld> {
        self.withheld.take()
    }

    /// Returns what is observed of the call.
    pub(crate) fn observed(&self) -> &Observed {
        &self.observed
    }

    pub(crate) fn observed_mut(&mut self) -> &mut Observed {
        &mut self.observed
    }

    pub(crate) fn operation(&self) -> &OperationSpec {
        &self.operation
    }

    /// Returns the operation's name in this call.
    pub(crate) fn name(&self) -> &Cow<'static, str> {
        &self.name
    }

    pub(crate) fn fingerprint(&self) -> Option<Fingerprint> {
        self.fingerprint
    }

    /// Returns what turns the payloads of this call's record into their stored form.
    pub(crate) fn call_codec(&self) -> &CallCodec {
        &self.call_codec
    }

    /// Returns the request to store, or `None` if the operation does not record requests.
    pub(crate) fn recorded_request(&self) -> Option<&[u8]> {
        if self.operation.policy().record_request {
            self.kept_request()
        } else {
            None
        }
    }

    /// Returns the request in its canonical form, if one is compared.
    pub(crate) fn canonical(&self) -> Option<&[u8]> {
        self.canonical.as_deref()
    }

    /// Returns the request to store even if the operation does not record requests, or `None` if it
    /// compares none.
    pub(crate) fn kept_request(&self) -> Option<&[u8]> {
        let limit = self.operation.policy().request_limit;
        let canonical = self.canonical.as_deref();
        canonical.map(|canonical| stored_request(canonical, limit))
    }

    pub(crate) fn decide_input(&self) -> DecideInput<'_> {
        DecideInput {
            namespace: self.operation.namespace(),
            operation: &self.name,
            request: self.canonical.as_deref(),
            fingerprint: self.fingerprint,
            expiry: self.operation.policy().expiry,
            lease_holder: None,
            opener: self
                .identity
                .as_ref()
                .and_then(|identity| Opener::of(self.call_codec.protection(), identity)),
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if self.event_due {
            let panicked = std::thread::panicking();
            self.emit(if panicked { PANICKED } else { "dropped" }, None, None);
        }
    }
}
