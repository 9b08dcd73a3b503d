//! Looks at one lapsed lease: whether its record can be run again, and with which request.

use sqlx::Pool;

use super::report::Left;
use crate::calls::kit::pooled_conn::PooledConn;
use crate::decision::{DecideInput, Decision, LeaseHolder, Opener, decide};
use crate::stores::lapsed::LapsedLease;
use crate::stores::lease::LeaseBackend;
use crate::stores::{ClaimRequest, PoolTraitsOf, Session as _};
use crate::values::codec::CallCodec;
use crate::values::error::Error;
use crate::values::identity::Identity;
use crate::values::key::{IdempotencyKey, Scope};
use crate::values::policy::{Expiry, OnLapse};
use crate::values::record::{AttemptId, CODEC_JSON, Record};
use crate::values::spec::OperationSpec;

/// A lapsed lease that can be taken over.
pub(super) struct Resumable {
    pub(super) identity: Identity,
    pub(super) lapsed: AttemptId,
    /// The canonical JSON of the request.
    pub(super) request: Vec<u8>,
}

/// What a look at a lapsed lease shows.
pub(super) enum Inspected {
    /// Its body can be run.
    Resumable(Resumable),
    /// It is left for its client.
    Left(Left),
    /// Its record has changed since it was found.
    Changed,
}

/// Looks the record up, and compares its request with its fingerprint.
///
/// # Errors
/// Any error of the database.
pub(super) async fn inspect<DB: LeaseBackend>(
    pool: &Pool<DB>,
    operation: &OperationSpec,
    lapsed: &LapsedLease,
) -> Result<Inspected, Error> {
    let Ok(call_codec) = CallCodec::of(operation.codec()) else {
        return Ok(Inspected::Left(Left::Codec));
    };
    if call_codec.hashes_names() {
        return Ok(Inspected::Left(Left::HashedKey));
    }
    let Some(identity) = identity(operation, lapsed) else {
        return Ok(Inspected::Left(Left::UnknownForm));
    };
    let claim_request: ClaimRequest<PoolTraitsOf<DB>> =
        ClaimRequest::new(operation.table_name(), identity);
    let mut pooled = PooledConn::from(pool).await?;
    let found = pooled.conn.look_up(&claim_request).await;
    pooled.give_back(found.is_ok()).await;
    let lookup = match found {
        Ok(found) => found.lookup,
        Err(Error::UnknownState { .. }) => return Ok(Inspected::Left(Left::UnknownForm)),
        Err(error) => return Err(error),
    };
    let Some(record) = &lookup.record else {
        return Ok(Inspected::Changed);
    };
    if record.attempt_id != lapsed.attempt_id {
        return Ok(Inspected::Changed);
    }
    let opener = Opener::of(call_codec.protection(), &claim_request.identity);
    let request = match request(record, opener) {
        Ok(request) => request,
        Err(left) => return Ok(Inspected::Left(left)),
    };
    let input = DecideInput {
        namespace: operation.namespace(),
        operation: operation.name(),
        request: Some(&request),
        fingerprint: None,
        expiry: Expiry::Replay,
        lease_holder: Some(LeaseHolder {
            attempt_id: claim_request.attempt_id,
            on_lapse: OnLapse::Retry,
            takes_over: Some(lapsed.attempt_id),
        }),
        opener,
    };
    Ok(match decide(lookup, input) {
        Decision::TakeOver { .. } => Inspected::Resumable(Resumable {
            identity: claim_request.identity.clone(),
            lapsed: lapsed.attempt_id,
            request,
        }),
        Decision::Refuse(Error::Mismatch(_)) => Inspected::Left(Left::Mismatch),
        Decision::Refuse(Error::Codec(_)) => Inspected::Left(Left::Codec),
        Decision::Refuse(Error::UnknownState { .. }) => Inspected::Left(Left::UnknownForm),
        _ => Inspected::Changed,
    })
}

/// Returns the identity as it is stored, or `None` if it is none that this build would store.
pub(super) fn identity(operation: &OperationSpec, lapsed: &LapsedLease) -> Option<Identity> {
    let scope = if lapsed.scope.is_empty() {
        Scope::GLOBAL
    } else {
        Scope::new(&*lapsed.scope).ok()?
    };
    let key = lapsed.key.parse::<IdempotencyKey>().ok()?;
    let is_same = key.as_str() == lapsed.key;
    is_same.then(|| Identity::of_operation(operation.namespace(), scope, key))
}

/// Returns the recorded request, opened. A request without a fingerprint is none: nothing vouches for it.
fn request(record: &Record, opener: Option<Opener<'_>>) -> Result<Vec<u8>, Left> {
    if record.request_too_large {
        return Err(Left::TooLarge);
    }
    let Some(kept) = &record.request else {
        return Err(Left::NoRequest);
    };
    if record.fingerprint.is_none() {
        return Err(Left::Mismatch);
    }
    match opener {
        Some(opener) => match opener.open_request(record) {
            Ok(request) => request.ok_or(Left::NoRequest),
            Err(_) => Err(Left::Codec),
        },
        None if record.codec == CODEC_JSON => Ok(kept.clone()),
        None => Err(Left::Codec),
    }
}
