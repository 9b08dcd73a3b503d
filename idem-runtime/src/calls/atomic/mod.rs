//! Atomic mode: the record of a call is committed in the same transaction as the writes of its body.
//!
//! [`flow`] has the order of a call. Its phases are [`try_claim`], [`ending`] and [`resolve`].

mod claim;
mod connection;
mod ending;
pub(crate) mod flow;
mod resolve;
mod retry;
mod rollback;
mod run;
mod source;
mod try_claim;
pub(crate) mod unit;

pub use self::source::{Begin, Source, TransactionParam};
