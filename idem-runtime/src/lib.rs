//! idem.

pub mod error;
pub mod fingerprint;
pub mod key;
