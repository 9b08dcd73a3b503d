//! The claim that a call holds while its body runs.

use std::borrow::Cow;

use sqlx::Transaction;

use super::connection::ConnectionState;
use super::rollback::depth;
use crate::calls::kit::request::Request;
use crate::calls::telemetry::Observed;
use crate::stores::{Backend, ClaimOf};
use crate::values::codec::{Binding, CallCodec, Column};
use crate::values::error::Error;
use crate::values::fingerprint::Fingerprint;
use crate::values::identity::Identity;
use crate::values::record::AttemptId;
use crate::values::spec::OperationSpec;

/// The right to run the body once, with the transaction to run it in.
pub struct Claim<'u, DB: Backend> {
    pub(super) tx: Transaction<'u, DB>,
    pub(super) state: &'u mut ConnectionState,
    /// Whether the library sent BEGIN and sends COMMIT.
    pub(super) own: bool,
    /// The driver's transaction depth of `tx`.
    pub(super) depth: usize,
    /// The claim, or `None` for a call without a key.
    pub(super) held: Option<ClaimOf<DB::Connection>>,
    /// The attempt of the reclaimable record that the new record replaces.
    pub(super) replaces: Option<AttemptId>,
    pub(super) attempt: i32,
    pub(super) request_snapshot: RequestSnapshot,
    pub(super) observed: Observed,
    /// Whether the body runs because the key's record was past its retention.
    pub(super) expired: bool,
}

impl<'u, DB: Backend> Claim<'u, DB> {
    /// Creates a claim on a transaction just begun, with no key claimed yet.
    pub(super) fn on(
        tx: Transaction<'u, DB>,
        state: &'u mut ConnectionState,
        own: bool,
        request: &Request,
    ) -> Self {
        Self {
            depth: depth::<DB>(&tx),
            tx,
            state,
            own,
            held: None,
            replaces: None,
            attempt: 1,
            request_snapshot: RequestSnapshot::of(request),
            observed: request.observed().clone(),
            expired: false,
        }
    }

    /// Adds the claim on the call's key.
    pub(super) fn holding(self, held: ClaimOf<DB::Connection>) -> Self {
        Self {
            held: Some(held),
            ..self
        }
    }
}

/// What the record will hold of the request, fixed before the body runs.
pub(super) struct RequestSnapshot {
    pub(super) operation: OperationSpec,
    /// The operation's name in this call.
    pub(super) name: Cow<'static, str>,
    pub(super) fingerprint: Option<Fingerprint>,
    pub(super) request: Option<Vec<u8>>,
    pub(super) call_codec: CallCodec,
}

/// A payload as the record holds it.
type Stored<'b> = Cow<'b, [u8]>;

impl RequestSnapshot {
    /// Returns request and payload as the record holds them.
    pub(super) fn protect<'b>(
        &'b self,
        identity: &Identity,
        attempt_id: AttemptId,
        column: Column,
        payload: &'b [u8],
    ) -> Result<(Option<Stored<'b>>, Stored<'b>), Error> {
        let binding = Binding {
            identity,
            operation: &self.name,
        };
        let protect = |column, json| self.call_codec.protect(binding, column, attempt_id, json);
        let request = self.request.as_deref();
        let request = request.map(|request| protect(Column::Request, request));
        Ok((request.transpose()?, protect(column, payload)?))
    }

    fn of(request: &Request) -> Self {
        Self {
            operation: *request.operation(),
            name: request.name().clone(),
            fingerprint: request.fingerprint(),
            request: request.recorded_request().map(<[u8]>::to_vec),
            call_codec: request.call_codec().clone(),
        }
    }
}
