//! Every name that generated code may use, and no other. Not part of the public interface.

pub use std::clone::Clone;
pub use std::option::Option::{self, None, Some};
pub use std::result::Result::{self, Err, Ok};
pub use std::time::Duration;

pub use serde_json::Value;

pub use crate::engine::contract::{Contract, contract, failures, lifts, reads, writes};
pub use crate::engine::flow::{Claim, Finished, Step, claim, finish, settle, tx};
pub use crate::engine::request::Request;
pub use crate::engine::unit::{Unit, unit};
pub use crate::failure::StoredFailure;
pub use crate::payload::failure::{
    Described, FailureField, described, field, listed, named, replayed, same_variant,
};
pub use crate::policy::OnLapse;
pub use crate::spec::Operation;

pub use crate::lease::run::{Arrival, LeasedCall, leased, run};

use crate::error::Invalid;
use crate::key::{IdempotencyKey, KeyPart, Minter};
use crate::replay::Replayable;

/// `key = natural(a, b)`: the key minted from what names the effect in the business itself.
///
/// # Errors
/// [`Invalid`] for a blank part.
pub fn natural(parts: &[&dyn KeyPart]) -> Result<IdempotencyKey, Invalid> {
    Minter::mint(parts.iter().map(|part| part.text()))
}

/// `signature = "keep"`: the plain result.
///
/// # Errors
/// Those of `result`.
pub fn keep<T, E>(result: Result<Replayable<T>, E>) -> Result<T, E> {
    result.map(Replayable::into_inner)
}
