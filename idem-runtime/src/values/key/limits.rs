//! Maximum lengths of names and keys, in characters.
//!
//! The columns of the record and every value composed from these inputs are bounded by the same
//! constants. Therefore an accepted key is never cut or refused by the database.

/// Maximum length of a [`Namespace`](super::Namespace).
pub const NAMESPACE_MAX: usize = 64;

/// Maximum length of a [`Scope`](super::Scope).
pub const SCOPE_MAX: usize = 255;

/// Maximum length of an [`IdempotencyKey`](super::IdempotencyKey), after trimming.
pub const KEY_MAX: usize = 255;

/// Maximum length of an operation's name.
pub const OPERATION_MAX: usize = 255;
