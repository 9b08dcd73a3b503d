//! All names that generated code may use. Not part of the public interface.

pub use std::clone::Clone;
pub use std::fmt::Debug;
pub use std::marker::Copy;
pub use std::mem::drop;
pub use std::option::Option::{self, None, Some};
pub use std::result::Result::{self, Err, Ok};

#[cfg(feature = "registry")]
pub use inventory::submit;
pub use serde_json::Value;

pub use crate::calls::atomic::flow::Step::{Again, Done, Run};
pub use crate::calls::atomic::flow::{Claim, Finished, Step, body, claim, finish, settle, tx};
pub use crate::calls::atomic::unit::{Unit, unit};
pub use crate::calls::kit::answer_named::{ByReference, ByValue, answer_named, contract_of};
pub use crate::calls::kit::contract::{Contract, contract, failures, lifts, reads, writes};
pub use crate::calls::kit::request::Request;
pub use crate::calls::kit::review::{
    Denial, Entered, RecordedAt, Review, apart, approved, denied, is_replay, recorded, together,
};
#[cfg(feature = "schemars")]
pub use crate::edges::registry::Parameter;
#[cfg(feature = "schemars")]
pub use crate::edges::registry::types::{ComparedValues, HandlerTypes, OpaqueShape, Shape};
#[cfg(feature = "registry")]
pub use crate::edges::registry::{Handler, KeySource};
pub use crate::values::failure::StoredFailure;
pub use crate::values::operation::{DescribeOperation, LeasedOperation, Operation};
pub use crate::values::payload::failure::{
    Described, FailureField, described, field, listed, named, replayed, same_variant,
};
pub use crate::values::payload::versioned::{
    Downcasted, OlderRead, OlderWrite, Upcasted, WriteOlder, older, step,
};
pub use crate::values::policy::{OnLapse, RecordFailures, RetryFailures};
pub use crate::values::version::Versions;

pub use crate::calls::lease::flow::{AttemptReceiver, LeasedCall, leased, run};
pub use crate::calls::lease::request::LeasedRequest;

use std::time::Duration;

use crate::values::error::Error;
use crate::values::key::IdempotencyKey;
use crate::values::key::source::KeyPart;
use crate::values::replay::Replayable;

/// Does nothing. Its use is the warning of a pool among a handler's parameters.
#[allow(
    rustdoc::broken_intra_doc_links,
    reason = "the note begins with a code, not with a link"
)]
#[deprecated = "[IDEM062] writes through this pool are outside the handler's transaction: a retry repeats them; write through `tx`, or say that it is meant, `allow(pool)`"]
pub const fn pool_parameter() {}

/// Returns the duration of an option such as `retention = "24h"`.
pub const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Derives the key of `key = natural(a, b)`.
///
/// # Errors
/// [`Error::Invalid`] if there is no part, or a part is blank.
pub fn natural(parts: &[&dyn KeyPart]) -> Result<IdempotencyKey, Error> {
    IdempotencyKey::derive(parts.iter().map(|part| part.text()))
}

/// Returns the result without [`Replayable`], for `signature = "keep"`.
///
/// # Errors
/// The error of `result`.
pub fn keep<T, E>(result: Result<Replayable<T>, E>) -> Result<T, E> {
    result.map(Replayable::into_inner)
}

/// Returns `self` as a reference to the value, for every receiver type (`Box<Self>`, `Arc<Self>`,
/// ...).
pub fn receiver<T: ?Sized>(receiver: &T) -> &T {
    receiver
}

/// Registers a handler, inside its own body. The brackets hold the path of this module.
#[cfg(feature = "registry")]
#[doc(hidden)]
#[macro_export]
macro_rules! __register {
    (
        [$($p:tt)*]
        namespace: $namespace:expr,
        operation: $operation:expr,
        function: $function:expr,
        policy: $policy:expr,
        key: $key:ident,
        $(types: $types:expr,)?
    ) => {
        $($p)*::submit! {
            $($p)*::Handler::new(
                $namespace,
                $operation,
                $function,
                (::core::module_path!(), ::core::file!(), ::core::line!()),
                *$policy.policy(),
                $($p)*::KeySource::$key,
            )
            $(.typed($types))?
        }
    };
}

/// Does nothing without the feature `registry`.
#[cfg(not(feature = "registry"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __register {
    ($($handler:tt)*) => {};
}

pub use __register as register;
