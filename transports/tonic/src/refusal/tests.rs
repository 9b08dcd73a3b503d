//! Each code of the library has one status, one reason and, where it makes sense, a wait.

use std::time::Duration;

use idem_runtime::error::{Field, Invalid, Reason};
use idem_runtime::{Error, IdempotencyKey, StoredFailure};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::{Refusal, reason};
use crate::metadata::{IDEMPOTENT_REPLAYED, RETRY_PUSHBACK};

/// The code, the reason, the wait and the pushback of an error's status.
fn shown(error: &Error) -> (Code, String, Option<Duration>, String) {
    let status = Refusal::of(error).into_status();
    let details = status.get_error_details();
    let info = details.error_info().expect("an ErrorInfo");
    assert_eq!(info.domain, "idem-runtime");
    let link = &details.help().expect("a link").links[0];
    assert!(link.url.contains("/problems/index.html#"), "{link:?}");
    let wait = details
        .retry_info()
        .map(|info| info.retry_delay.expect("a delay"));
    (status.code(), info.reason.clone(), wait, pushback(&status))
}

fn pushback(status: &Status) -> String {
    let value = status.metadata().get(RETRY_PUSHBACK).expect("a pushback");
    value.to_str().expect("ASCII").to_owned()
}

fn expect(error: &Error, code: Code, reason: &str, wait: Option<Duration>, pushback: &str) {
    let expected = (code, reason.to_owned(), wait, pushback.to_owned());
    assert_eq!(shown(error), expected, "{error}");
}

#[test]
fn each_kind_has_its_code_and_says_whether_a_retry_helps() {
    let second = Some(Duration::from_secs(1));
    let wait = Duration::from_micros(1500);
    expect(
        &Error::InFlight {
            retry_after: wait,
            key: None,
        },
        Code::Unavailable,
        "IN_FLIGHT",
        Some(wait),
        "2",
    );
    expect(
        &Error::LeaseLost,
        Code::Unavailable,
        "TRY_AGAIN",
        second,
        "1000",
    );
    let operation = || "ship".to_owned();
    let unknown = Error::OutcomeUnknown {
        operation: operation(),
        attempt_id: uuid::Uuid::nil(),
        attempt: 1,
    };
    expect(
        &unknown,
        Code::FailedPrecondition,
        "OUTCOME_UNKNOWN",
        None,
        "-1",
    );
    expect(
        &Error::NestedSameKey,
        Code::Internal,
        "INTERNAL",
        None,
        "-1",
    );
    // A retry would repeat what the body has committed.
    expect(
        &Error::TransactionEnded,
        Code::Internal,
        "INTERNAL",
        None,
        "-1",
    );
    let large = Error::TooLargeToRecord {
        operation: operation(),
        what: "result",
        size: 2,
        limit: 1,
    };
    expect(&large, Code::Internal, "RESULT_TOO_LARGE", None, "-1");
    let no_scope = Error::ScopeMissing {
        operation: "ship".into(),
    };
    expect(&no_scope, Code::Internal, "INTERNAL", None, "-1");
}

#[test]
fn a_missing_key_and_an_overlong_one_name_the_metadata() {
    let missing = Error::KeyMissing {
        operation: "ship".into(),
    };
    let long = "k"
        .repeat(256)
        .parse::<IdempotencyKey>()
        .expect_err("too long");
    let parameter = Invalid::new(Field::Parameter("order".into()), Reason::NotFinite).into();
    let rows = [
        (missing, "KEY_MISSING", "idempotency-key", "is missing"),
        (
            long,
            "INVALID",
            "idempotency-key",
            "is 256 characters long; the limit is 255",
        ),
        (
            parameter,
            "INVALID",
            "order",
            "has a number that is infinite or not a number",
        ),
    ];
    for (error, reason, field, description) in rows {
        expect(&error, Code::InvalidArgument, reason, None, "-1");
        let status = Refusal::of(&error).into_status();
        let details = status.get_error_details();
        let violation = &details
            .bad_request()
            .expect("a BadRequest")
            .field_violations[0];
        assert_eq!(
            (&*violation.field, &*violation.description),
            (field, description)
        );
        assert!(status.message().contains(field) || status.message().contains("key"));
    }
}

#[test]
fn a_recorded_failure_is_a_replay_and_shows_nothing_of_the_first_request() {
    let failure = StoredFailure::new("SoldOut", "no tea for Anna");
    let error = Error::RecordedFailure(Box::new(failure));
    expect(
        &error,
        Code::FailedPrecondition,
        "RECORDED_FAILURE",
        None,
        "-1",
    );
    let status = Refusal::of(&error).into_status();
    let replayed = status.metadata().get(IDEMPOTENT_REPLAYED).expect("marked");
    assert_eq!(replayed, "true");
    assert!(!format!("{status:?}").contains("Anna"));
}

#[test]
fn every_code_of_the_library_is_a_reason_by_the_rule_of_google_rpc() {
    for (code, _) in idem_runtime::http::CODES {
        let reason = reason(code);
        let is_upper = |c: char| c.is_ascii_uppercase();
        assert!(reason.len() <= 63 && reason.starts_with(is_upper) && reason.ends_with(is_upper));
        assert!(reason.chars().all(|c| is_upper(c) || c == '_'), "{reason}");
    }
}
