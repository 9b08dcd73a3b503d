//! idem.

pub mod error;
pub mod key;
