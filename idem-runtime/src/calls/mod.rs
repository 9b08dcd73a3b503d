//! One call, from the key to the answer: in a transaction ([`atomic`]), or under a lease ([`lease`]).
//!
//! [`status`] says what has become of a call, and runs nothing.
//!
//! The two flows do not import each other. They share the modules of [`kit`].

pub(crate) mod atomic;
pub(crate) mod kit;
pub mod lease;
pub mod status;
pub mod telemetry;
