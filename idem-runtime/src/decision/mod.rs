//! The outcome of looking a key up in the store.

mod decide;
mod fence;
mod open;
mod phase;
mod typed;

pub(crate) use self::decide::{
    DecideInput, Decision, KeyBefore, LeaseHolder, Lock, Lookup, decide, in_flight_for, unknown,
};
pub(crate) use self::fence::Change;
pub(crate) use self::open::Opener;
pub(crate) use self::phase::Phase;
pub use self::typed::{Outcome, TypedMismatch};

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
