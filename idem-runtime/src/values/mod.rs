//! The data of a call: keys, requests and their hash, records, results, errors, and the description of an
//! operation. No SQL.

pub mod error;
pub(crate) mod failure;
pub mod fingerprint;
pub(crate) mod identity;
pub mod key;
pub(crate) mod operation;
pub(crate) mod payload;
pub mod policy;
pub mod record;
pub(crate) mod replay;
pub(crate) mod spec;
pub mod version;
