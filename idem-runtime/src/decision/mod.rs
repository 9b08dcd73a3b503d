//! The outcome of looking a key up in the store.

mod decide;
mod fence;
mod open;
mod typed;

pub(crate) use self::decide::{
    DecideInput, Decision, KeyBefore, LeaseHolder, Lock, Lookup, decide, unknown,
};
pub(crate) use self::fence::Change;
pub(crate) use self::open::Opener;
pub use self::typed::{Outcome, TypedMismatch};

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
