//! What tonic's client reads of an answer: whether it is a replay, and why a call was refused.

use std::time::Duration;

use tonic::metadata::MetadataMap;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

/// Whether the metadata mark a replay.
pub(crate) fn is_replay(metadata: &MetadataMap) -> bool {
    let Some(value) = metadata.get("idempotent-replayed") else {
        return false;
    };
    assert_eq!(value, "true");
    true
}

/// What a client reads of a refusal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) code: Code,
    pub(crate) reason: String,
    pub(crate) retry_after: Option<Duration>,
    /// The metadata or parameter at fault, and its fault.
    pub(crate) violation: Option<(String, String)>,
}

/// Reads a refusal. Its parts must agree with each other.
pub(crate) fn refused(status: &Status) -> Refused {
    let details = status.get_error_details();
    let info = details.error_info().expect("an ErrorInfo");
    assert_eq!(info.domain, idem_tonic::DOMAIN);
    assert!(!status.message().is_empty());
    let retry_after = details
        .retry_info()
        .map(|retry| retry.retry_delay.expect("a delay"));
    let pushback = status.metadata().get("grpc-retry-pushback-ms");
    let pushback = pushback.expect("a pushback").to_str().expect("ASCII");
    let pushback = pushback.parse::<i64>().expect("a number");
    match retry_after {
        Some(wait) => assert_eq!(
            i128::from(pushback),
            i128::try_from(wait.as_nanos().div_ceil(1_000_000)).expect("short")
        ),
        None => assert_eq!(pushback, -1),
    }
    let violation = details.bad_request().map(|bad| {
        let violation = &bad.field_violations[0];
        (violation.field.clone(), violation.description.clone())
    });
    Refused {
        code: status.code(),
        reason: info.reason.clone(),
        retry_after,
        violation,
    }
}

/// Code and reason of a refusal.
pub(crate) fn why(status: &Status) -> (Code, String) {
    let Refused { code, reason, .. } = refused(status);
    (code, reason)
}
