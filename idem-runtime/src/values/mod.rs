//! The data of a call: keys, requests and their hash, records, results, errors, and the description of an
//! operation. No SQL.

#[cfg_attr(
    not(feature = "encrypt"),
    allow(
        dead_code,
        unreachable_pub,
        reason = "without the feature nothing is encrypted"
    )
)]
pub mod codec;
#[cfg_attr(
    not(feature = "encrypt"),
    allow(dead_code, reason = "without the feature nothing is encrypted")
)]
pub(crate) mod envelope;
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
