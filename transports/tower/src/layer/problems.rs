//! The layer's own refusals, which every protocol writes in its way.

use http::StatusCode;
use idem_runtime::http::Problem;

use super::body::{Unread, Unstorable};

pub(super) fn not_read(unread: Unread, limit: usize) -> Problem {
    let detail = match unread {
        Unread::TooLong => format!(
            "the body is longer than {limit} bytes, which is the limit for a request with an Idempotency-Key; nothing was done"
        ),
        Unread::TooLongFurtherOut => {
            "the body is longer than this service reads; nothing was done".to_owned()
        }
        Unread::Broken => return unreadable("the body broke off; nothing was done".to_owned()),
    };
    Problem::new(
        "request-too-large",
        "The request is too large",
        StatusCode::PAYLOAD_TOO_LARGE,
        detail,
    )
}

pub(super) fn not_comparable(why: &str) -> Problem {
    unreadable(format!(
        "the multipart body cannot be compared with that of a retry, which has another boundary: {why}; nothing was done: write it as RFC 2046, section 5.1, says, without a Content-Encoding"
    ))
}

fn unreadable(detail: String) -> Problem {
    Problem::new(
        "request-unreadable",
        "The request could not be read",
        StatusCode::BAD_REQUEST,
        detail,
    )
}

pub(super) fn not_storable(why: Unstorable) -> Problem {
    Problem::new(
        "response-not-storable",
        "The response cannot be recorded",
        StatusCode::INTERNAL_SERVER_ERROR,
        format!(
            "{}; its effect has happened and is not repeated under this key: send no other key before its outcome is settled",
            why.detail()
        ),
    )
}

pub(super) fn not_shown() -> Problem {
    Problem::new(
        "replay-forbidden",
        "The recorded response is not for this request",
        StatusCode::FORBIDDEN,
        "the request with this Idempotency-Key was served before, but its response may not be shown to this request".to_owned(),
    )
}
