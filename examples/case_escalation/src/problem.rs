//! The service's own refusals, in the form of the library's: problem details (RFC 9457).

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use idem_axum::Problem;
use idem_runtime::error::is_transient;

/// Returns a refusal of the business: `code` is for programs, `detail` for people.
pub(crate) fn refusal(status: StatusCode, code: &str, detail: &str) -> Response {
    let title = status.canonical_reason().unwrap_or("Refused");
    Problem::new(code.to_owned(), title, status, detail)
        .with_type(format!("/problems#{code}"))
        .into_response()
}

/// Returns the answer to an error of the database: that the same request may be sent again, if the error may pass.
pub(crate) fn of_database(error: &sqlx::Error) -> Response {
    if is_transient(error) {
        let detail = "a temporary condition: try again with the same key";
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "try-again", detail);
    }
    internal()
}

/// Returns an answer without the cause, which is for the log.
pub(crate) fn internal() -> Response {
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    refusal(status, "internal", "the service is at fault")
}
