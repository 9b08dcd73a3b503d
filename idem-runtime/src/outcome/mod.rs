//! What asking the store comes to.

mod decide;
mod typed;

pub(crate) use self::decide::{Decision, Lock, Question, Sighting, decide};
pub use self::typed::{Outcome, TypedMismatch};

#[cfg(test)]
mod tests;
