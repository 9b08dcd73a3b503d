//! What each error means, as data.

use super::*;

#[test]
fn only_passing_conditions_are_retryable() {
    assert!(
        Error::InFlight {
            retry_after: Duration::from_secs(1)
        }
        .is_retryable()
    );
    assert!(Error::FreshTransactionNeeded.is_retryable());
    assert!(!Error::NestedSameKey.is_retryable());
    assert!(!Error::TransactionEnded.is_retryable());
    assert!(
        !Error::UnknownState {
            what: "status",
            value: 9
        }
        .is_retryable()
    );
}

#[test]
fn statuses_are_those_of_the_draft() {
    assert_eq!(
        Error::KeyMissing {
            operation: "pay".into()
        }
        .status(),
        400
    );
    assert_eq!(
        Error::InFlight {
            retry_after: Duration::from_secs(1)
        }
        .status(),
        409
    );
    let unknown = Error::OutcomeUnknown {
        operation: "send".to_owned(),
        attempt_id: Uuid::nil(),
        attempt: 1,
    };
    assert_eq!(unknown.status(), 409);
    assert!(!unknown.is_retryable());
    assert_eq!(Error::LeaseLost.status(), 503);
    assert_eq!(Error::NestedSameKey.status(), 500);
}

#[test]
fn only_an_attempt_in_flight_says_when_to_come_back() {
    let wait = Duration::from_millis(250);
    assert_eq!(
        Error::InFlight { retry_after: wait }.retry_after(),
        Some(wait)
    );
    assert_eq!(Error::FreshTransactionNeeded.retry_after(), None);
}
