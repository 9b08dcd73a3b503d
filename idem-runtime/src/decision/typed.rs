//! The outcome of `begin` in the raw store, with raw or typed values.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::values::error::Error;
use crate::values::failure::StoredFailure;

/// The outcome of [`begin`](crate::stores::Bound::begin). `C` is the claim, `Req` and `Res` are the
/// types of request and result (JSON values in the raw store).
///
/// The serialized form has a field `kind`, and leaves out the claim and the recorded request.
///
/// `Debug` prints neither the claim nor the request nor the recorded values: they may belong to
/// another caller.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[must_use = "a fresh claim must be committed, failed, or its transaction rolled back"]
pub enum Outcome<C, Req, Res> {
    /// The key is unused: run the effect, then end the claim.
    Fresh(#[serde(skip)] C),
    /// Another attempt is running.
    InFlight {
        /// How long to wait before a retry; serialized in milliseconds.
        #[serde(rename = "retry_after_ms", serialize_with = "milliseconds")]
        retry_after: Duration,
    },
    /// The result of an earlier attempt.
    PriorResult {
        /// The recorded result.
        value: Res,
    },
    /// The permanent failure of an earlier attempt.
    PriorError {
        /// The recorded failure.
        error: StoredFailure,
    },
    /// The key was used for a different request.
    Mismatch(TypedMismatch<Req>),
}

/// The same key with a different request.
///
/// `Debug` and the serialized form leave out the recorded request: it may belong to another caller.
#[derive(Serialize)]
#[non_exhaustive]
pub struct TypedMismatch<Req> {
    /// The operation that claimed the key.
    pub recorded_operation: String,
    /// The operation that is called.
    pub submitted_operation: String,
    /// The recorded request, if the operation records requests. It is `Some(Err(..))` if the
    /// recorded request no longer decodes.
    #[serde(skip)]
    pub recorded_request: Option<Result<Req, Error>>,
    /// Whether the recorded request was too large to store.
    #[serde(skip)]
    pub recorded_request_too_large: bool,
    /// The recorded fingerprint, lower-case hex.
    pub recorded_hash: Option<String>,
    /// The submitted fingerprint, lower-case hex.
    pub submitted_hash: Option<String>,
    /// Whether the two requests have the same elements and differ only in the order of a list; see
    /// [`Mismatch`](crate::values::error::Mismatch::differs_in_order_only).
    #[serde(skip)]
    pub differs_in_order_only: bool,
    /// The places at which the two requests differ; see [`Mismatch`](crate::values::error::Mismatch::differing).
    #[serde(skip)]
    pub differing: Vec<String>,
}

fn milliseconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

impl<C, Req, Res> fmt::Debug for Outcome<C, Req, Res> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fresh(_) => f.debug_tuple("Fresh").finish_non_exhaustive(),
            Self::InFlight { retry_after } => f
                .debug_struct("InFlight")
                .field("retry_after", retry_after)
                .finish(),
            Self::PriorResult { .. } => f.debug_struct("PriorResult").finish_non_exhaustive(),
            Self::PriorError { error } => f
                .debug_struct("PriorError")
                .field("class", &error.class)
                .finish_non_exhaustive(),
            Self::Mismatch(mismatch) => f.debug_tuple("Mismatch").field(mismatch).finish(),
        }
    }
}

impl<Req> fmt::Debug for TypedMismatch<Req> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedMismatch")
            .field("recorded_operation", &self.recorded_operation)
            .field("submitted_operation", &self.submitted_operation)
            .field("recorded_hash", &self.recorded_hash)
            .field("submitted_hash", &self.submitted_hash)
            .field("differs_in_order_only", &self.differs_in_order_only)
            .field("differing", &self.differing)
            .finish_non_exhaustive()
    }
}
