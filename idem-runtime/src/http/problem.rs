//! Refusals as RFC 9457 problem details.

use std::borrow::Cow;
use std::time::Duration;

use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, HeaderValue, LINK, RETRY_AFTER};
use http::{StatusCode, header};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};

/// Where each refusal is explained; a fragment names which.
pub const DOCUMENTATION: &str =
    "https://docs.rs/idem-runtime/latest/idem_runtime/http/struct.Problem.html";

/// What a client is told of a refusal: the members of RFC 9457, section 3.1, and two of our own.
///
/// | `code` | status | meaning |
/// |---|---|---|
/// | `key-missing` | 400 | the operation needs an `Idempotency-Key` and the request has none |
/// | `invalid` | 400 | the key, or something that is compared, is not acceptable: which, and which limit |
/// | `in-flight` | 409 | another request with this key is running; `Retry-After` says when to try again |
/// | `mismatch` | 422 | the key was used before, for another request or operation |
/// | `recorded-failure` | 422 | an earlier request with this key failed for good |
/// | `outcome-unknown` | 409 | nobody knows yet what became of an earlier request with this key |
/// | `try-again` | 503 | a passing condition: send the request again with the same key |
/// | `unavailable` | 503 | the store cannot be reached; nothing was done |
/// | `internal` | 500 | the server is at fault; its log says how |
/// | `request-too-large` | 413 | the layer reads no longer body; nothing was done |
/// | `request-unreadable` | 400 | the body broke off; nothing was done |
/// | `response-not-storable` | 500 | the request was served, and its response cannot be recorded |
/// | `replay-forbidden` | 403 | the recorded response is not for this request |
///
/// No member holds another request's data, nor what the database said: that is for the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Problem {
    /// A URI that names the kind of problem.
    #[serde(rename = "type")]
    pub type_uri: String,
    /// The kind of problem in a sentence; the same for all of its kind.
    pub title: Cow<'static, str>,
    /// The status of the response.
    pub status: u16,
    /// What is wrong with this request.
    pub detail: String,
    /// The kind of problem for programs; the same in every version.
    pub code: Cow<'static, str>,
    /// Where it is explained to people.
    pub documentation: String,
    /// In how many seconds to try again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
}

impl Problem {
    pub(super) fn new(
        code: &'static str,
        title: &'static str,
        status: StatusCode,
        detail: String,
    ) -> Self {
        let type_uri = format!("{DOCUMENTATION}#{code}");
        Self {
            documentation: type_uri.clone(),
            type_uri,
            title: title.into(),
            status: status.as_u16(),
            detail,
            code: code.into(),
            retry_after: None,
        }
    }

    /// What a client is told of `error`.
    ///
    /// ```
    /// use idem_runtime::{Error, http::Problem};
    ///
    /// let problem = Problem::of(&Error::KeyMissing { operation: "POST /orders".into() });
    /// assert_eq!((problem.status, &*problem.code), (400, "key-missing"));
    /// ```
    pub fn of(error: &Error) -> Self {
        let (code, title) = kind(error);
        let status = StatusCode::from_u16(error.status());
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self {
            retry_after: error.retry_after().map(whole_seconds),
            ..Self::new(code, title, status, detail(error))
        }
    }

    /// The same with another status.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status.as_u16();
        self
    }

    /// The same with its `type` under another base: `{base}#{code}`.
    #[must_use]
    pub fn with_type_base(mut self, base: &str) -> Self {
        self.type_uri = format!("{base}#{}", self.code);
        self
    }

    /// The same with another page for people.
    #[must_use]
    pub fn with_documentation(mut self, url: impl Into<String>) -> Self {
        self.documentation = url.into();
        self
    }
}

/// The code and the title of an error's kind.
fn kind(error: &Error) -> (&'static str, &'static str) {
    match error.kind() {
        ErrorKind::Invalid if matches!(error, Error::KeyMissing { .. }) => {
            ("key-missing", "Idempotency-Key is missing")
        }
        ErrorKind::Invalid => ("invalid", "Idempotency-Key or request is not acceptable"),
        ErrorKind::InFlight => (
            "in-flight",
            "A request is outstanding for this Idempotency-Key",
        ),
        ErrorKind::Mismatch => ("mismatch", "Idempotency-Key is already used"),
        ErrorKind::RecordedFailure => (
            "recorded-failure",
            "The request with this Idempotency-Key failed for good",
        ),
        ErrorKind::OutcomeUnknown => (
            "outcome-unknown",
            "The outcome of the request with this Idempotency-Key is unknown",
        ),
        ErrorKind::Transient => ("try-again", "Try again with the same Idempotency-Key"),
        ErrorKind::Unavailable => ("unavailable", "The service is unavailable"),
        ErrorKind::Misuse | ErrorKind::Incompatible | ErrorKind::Database => {
            ("internal", "The server is at fault")
        }
    }
}

/// What is wrong, without what is for the log alone.
fn detail(error: &Error) -> String {
    match error {
        Error::Invalid(invalid) => invalid.to_string(),
        Error::KeyMissing { operation } => {
            format!("{operation} needs an Idempotency-Key header, and the request has none")
        }
        Error::InFlight { .. } => {
            "another request with this key is running: try again later, with the same key"
                .to_owned()
        }
        Error::Mismatch(_) => {
            "this key was used before, for another request: send a new request with a new key"
                .to_owned()
        }
        Error::RecordedFailure(_) => {
            "an earlier request with this key failed, and sending it again cannot mend that"
                .to_owned()
        }
        Error::OutcomeUnknown { .. } => {
            "an earlier request with this key was broken off, and what it did is being found out"
                .to_owned()
        }
        error if error.is_retryable() => {
            "nothing has gone wrong that a retry cannot mend: try again with the same key"
                .to_owned()
        }
        _ => "the server could not serve this request; its log says why".to_owned(),
    }
}

/// Rounded up, at least 1: `Retry-After` knows no less (RFC 9110, section 10.2.3).
fn whole_seconds(time: Duration) -> u64 {
    (time.as_secs() + u64::from(time.subsec_nanos() > 0)).max(1)
}

/// Adds the header that says when to try again.
pub(super) fn set_retry_after(response: &mut Response, seconds: Option<u64>) {
    if let Some(seconds) = seconds {
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
}

impl IntoResponse for Problem {
    /// `application/problem+json`, with `Retry-After` where it says so, and a `Link` to the
    /// documentation (relation `describedby`), as the IETF draft shows.
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        // Strings and numbers: nothing in it can fail to be written.
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        // A refusal holds for this moment only.
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let link = format!(
            "<{}>; rel=\"describedby\"; type=\"text/html\"",
            self.documentation
        );
        if let Ok(link) = HeaderValue::try_from(link) {
            headers.insert(LINK, link);
        }
        set_retry_after(&mut response, self.retry_after);
        response.extensions_mut().insert(self);
        response
    }
}
