//! Background work beside the calls.

pub mod purge;
