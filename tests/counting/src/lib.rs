//! Counts the cost of a call, in instructions and allocations, and compares it with committed bounds.
//!
//! A program names its stretches by [`stretches!`], enters them through a [`Ledger`], and prints the ledger. A test runs the
//! program by [`callgrind::measure`] and compares by [`bounds::expect_within`].

pub mod bounds;
pub mod callgrind;
mod stretch;
pub mod table;

pub use self::stretch::{Ledger, Stretch};
