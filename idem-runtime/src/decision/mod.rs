//! The outcome of looking a key up in the store.

mod decide;
mod fence;
mod typed;

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(crate) use self::decide::Lock;
pub(crate) use self::decide::{DecideInput, Decision, LeaseHolder, Lookup, decide, unknown};
pub(crate) use self::fence::Change;
pub use self::typed::{Outcome, TypedMismatch};

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
