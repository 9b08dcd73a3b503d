//! The service's own refusals, in the form of the library's: problem details (RFC 9457).

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use idem_axum::Problem;

/// Returns a refusal of the business: `code` is for programs, `detail` for people.
pub(crate) fn refusal(status: StatusCode, code: &str, detail: &str) -> Response {
    let title = status.canonical_reason().unwrap_or("Refused");
    Problem::new(code.to_owned(), title, status, detail)
        .with_type(format!("/problems#{code}"))
        .into_response()
}

/// Returns an answer without the cause, which is for the log.
pub(crate) fn internal() -> Response {
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    refusal(status, "internal", "the service is at fault")
}
