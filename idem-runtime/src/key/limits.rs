//! The longest names and keys, in characters.
//!
//! The same constants bound the input, the columns of the record and whatever is composed
//! of both, so that no accepted key is cut or refused further down.

/// The longest [`Namespace`](super::Namespace).
pub const NAMESPACE_MAX: usize = 64;

/// The longest [`Scope`](super::Scope).
pub const SCOPE_MAX: usize = 255;

/// The longest [`IdempotencyKey`](super::IdempotencyKey), after trimming.
pub const KEY_MAX: usize = 255;

/// The longest name of an operation.
pub const OPERATION_MAX: usize = 255;
