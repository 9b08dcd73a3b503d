//! The service's own refusals, in the shape of the library's: problem details (RFC 9457).

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// A refusal of the business: `code` is for programs, `detail` for people.
pub(crate) fn refusal(status: StatusCode, code: &str, detail: &str) -> Response {
    let body = json!({
        "type": format!("/problems#{code}"),
        "title": status.canonical_reason(),
        "status": status.as_u16(),
        "code": code,
        "detail": detail,
    });
    let content_type = [(header::CONTENT_TYPE, "application/problem+json")];
    (status, content_type, body.to_string()).into_response()
}

/// What went wrong is for the log.
pub(crate) fn internal() -> Response {
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    refusal(status, "internal", "the service is at fault")
}
