//! Atomic mode: the record of a call is committed in the same transaction as the writes of its body.
//!
//! [`flow`] has the order of a call. [`claim`], [`ending`] and [`resolve`] are its phases.

mod claim;
mod ending;
pub(crate) mod flow;
mod resolve;
mod run;
mod source;
pub(crate) mod unit;

pub use self::source::{Begin, Source, TransactionParam};
