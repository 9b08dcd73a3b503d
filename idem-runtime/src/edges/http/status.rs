//! The statuses of refusals, and the seconds of `Retry-After`.

use std::time::Duration;

use crate::values::error::Error;
use crate::values::policy::DEFAULT_RETRY_AFTER;

/// The codes of the library's refusals, each with its default status; a policy may change it.
/// [`Error::status`] is that of an error. [The page](super::problems) has a heading for each.
pub const CODES: [(&str, u16); 14] = [
    ("key-missing", 400),
    ("invalid", 400),
    ("in-flight", 409),
    ("mismatch", 422),
    ("recorded-failure", 422),
    ("outcome-unknown", 409),
    ("try-again", 503),
    ("unavailable", 503),
    ("result-too-large", 500),
    ("internal", 500),
    ("request-too-large", 413),
    ("request-unreadable", 400),
    ("response-not-storable", 500),
    ("replay-forbidden", 403),
];

/// Returns the seconds of the `Retry-After` of an error, or `None` if a retry makes no sense.
///
/// Each error that [may be retried](Error::is_retryable) has one: the error's own
/// [`retry_after`](Error::retry_after), or one second by default.
///
/// ```
/// use std::time::Duration;
///
/// use idem_runtime::Error;
/// use idem_runtime::http::retry_after;
///
/// let in_flight = Error::InFlight { retry_after: Duration::from_millis(1200), key: None };
/// assert_eq!((in_flight.status(), retry_after(&in_flight)), (409, Some(2)));
/// assert_eq!((Error::LeaseLost.status(), retry_after(&Error::LeaseLost)), (503, Some(1)));
/// assert_eq!(retry_after(&Error::NestedSameKey), None);
/// ```
pub fn retry_after(error: &Error) -> Option<u64> {
    let passing = error.is_retryable().then_some(DEFAULT_RETRY_AFTER);
    error.retry_after().or(passing).map(whole_seconds)
}

/// Rounds up to whole seconds, at least 1: `Retry-After` has no fractions (RFC 9110, section 10.2.3).
pub(super) fn whole_seconds(time: Duration) -> u64 {
    (time.as_secs() + u64::from(time.subsec_nanos() > 0)).max(1)
}
