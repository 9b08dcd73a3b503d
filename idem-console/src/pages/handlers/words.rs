//! A handler's policy in words.

use std::time::Duration;

use idem_runtime::policy::{Expiry, Failures, OnConflict, Policy};
use idem_runtime::registry::{Handler, KeySource};

use crate::pages::text::{number, on_lapse};

/// Returns a time in its units: `7days`, `1m 30s`.
pub(super) fn time(time: Duration) -> String {
    humantime::format_duration(time).to_string()
}

/// Returns where the key of a call comes from.
pub(super) fn key(handler: &Handler) -> &'static str {
    match (handler.key_source(), handler.policy().key_required) {
        (KeySource::Request, _) => "made of the request",
        (_, true) => "required",
        (_, false) => "optional",
    }
}

/// Returns what the effect and its record have in common.
pub(super) fn mode(policy: &Policy) -> String {
    match policy.lease {
        None => "in the transaction".to_owned(),
        Some(lease) => format!("under a lease of {}", time(lease.duration())),
    }
}

pub(super) fn lapse(policy: &Policy) -> Option<&'static str> {
    policy.lease.map(|lease| on_lapse(lease.on_lapse()))
}

pub(super) fn on_conflict(policy: &Policy) -> String {
    match policy.on_conflict {
        OnConflict::Reject => "is refused at once".to_owned(),
        OnConflict::Wait(most) => format!("waits for {} at most", time(most)),
    }
}

pub(super) fn failures(policy: &Policy) -> &'static str {
    match policy.failures {
        Failures::Retry => "none: the next call runs the body again",
        Failures::Record => "permanent ones, and they are replayed",
    }
}

pub(super) fn expiry(policy: &Policy) -> &'static str {
    match policy.expiry {
        Expiry::Replay => "is replayed until a purge deletes it",
        Expiry::Strict => "counts as none: the body runs again",
    }
}

pub(super) fn request(policy: &Policy) -> String {
    let compared = if policy.fingerprint {
        "compared on every retry"
    } else {
        "not compared"
    };
    // An unknown outcome is settled by its request.
    if policy.record_request || policy.lease.is_some() {
        let limit = bytes(policy.request_limit);
        format!("{compared}; stored if it has at most {limit}")
    } else {
        format!("{compared}; not stored")
    }
}

pub(super) fn bytes(limit: usize) -> String {
    let limit = u64::try_from(limit).unwrap_or(u64::MAX);
    format!("{} bytes", number(limit))
}
