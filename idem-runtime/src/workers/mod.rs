//! What runs beside the calls.

pub mod purge;
