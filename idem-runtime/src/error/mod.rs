//! What the library refuses, and why.

mod invalid;

pub use invalid::{Field, Invalid, Reason};
