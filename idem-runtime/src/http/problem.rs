//! Refusals as RFC 9457 problem details.

use std::borrow::Cow;
use std::time::Duration;

use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, HeaderValue, LINK, RETRY_AFTER};
use http::{StatusCode, header};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::policy::DEFAULT_RETRY_AFTER;

/// The media type of problems (RFC 9457, section 6.1).
pub(super) const PROBLEM_JSON: &str = "application/problem+json";

/// Where each refusal is explained: [the page](super::problems) with a heading for each code, which
/// a fragment names.
pub const DOCUMENTATION: &str =
    "https://docs.rs/idem-runtime/latest/idem_runtime/http/problems/index.html";

/// The `type` of a problem that has no explanation anywhere (RFC 9457, section 4.2.1).
const ABOUT_BLANK: &str = "about:blank";

/// The codes of the library's refusals, each with the status that it has unless a policy says
/// otherwise. [The page](super::problems) has a heading for each.
pub const CODES: [(&str, StatusCode); 13] = [
    ("key-missing", StatusCode::BAD_REQUEST),
    ("invalid", StatusCode::BAD_REQUEST),
    ("in-flight", StatusCode::CONFLICT),
    ("mismatch", StatusCode::UNPROCESSABLE_ENTITY),
    ("recorded-failure", StatusCode::UNPROCESSABLE_ENTITY),
    ("outcome-unknown", StatusCode::CONFLICT),
    ("try-again", StatusCode::SERVICE_UNAVAILABLE),
    ("unavailable", StatusCode::SERVICE_UNAVAILABLE),
    ("internal", StatusCode::INTERNAL_SERVER_ERROR),
    ("request-too-large", StatusCode::PAYLOAD_TOO_LARGE),
    ("request-unreadable", StatusCode::BAD_REQUEST),
    ("response-not-storable", StatusCode::INTERNAL_SERVER_ERROR),
    ("replay-forbidden", StatusCode::FORBIDDEN),
];

/// What a client is told of a refusal: the members of RFC 9457, section 3.1, and two of our own.
///
/// [The page of problems](super::problems) explains each `code` of the library's. A service tells of
/// its own refusals in the same shape:
///
/// ```
/// use axum::http::StatusCode;
/// use idem_runtime::http::Problem;
///
/// let closed = Problem::new(
///     "account-closed",
///     "The account is closed",
///     StatusCode::CONFLICT,
///     "account 17 was closed in May",
/// )
/// .with_type("https://api.example.com/problems#account-closed");
/// assert_eq!(closed.status, 409);
/// ```
///
/// No member holds another request's data, nor what the database said: that is for the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(
    feature = "openapi",
    schema(description = "A refusal: problem details by RFC 9457.")
)]
#[non_exhaustive]
pub struct Problem {
    /// A URI that names the kind of problem.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "openapi", schema(format = "uri-reference"))]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub documentation: Option<String>,
    /// In how many seconds to try again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub retry_after: Option<u64>,
}

impl Problem {
    /// A problem of this kind. The `type` of one of the [`CODES`] is its explanation, which
    /// `documentation` names too; any other's is `about:blank`, unless
    /// [`with_type`](Self::with_type) or a [policy](super::HttpPolicy::problem_types) says better.
    pub fn new(
        code: impl Into<Cow<'static, str>>,
        title: impl Into<Cow<'static, str>>,
        status: StatusCode,
        detail: impl Into<String>,
    ) -> Self {
        let code = code.into();
        let explained = explanation(&code);
        Self {
            type_uri: explained.clone().unwrap_or_else(|| ABOUT_BLANK.to_owned()),
            documentation: explained,
            title: title.into(),
            status: status.as_u16(),
            detail: detail.into(),
            code,
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
        // Whoever may try again is told when, and where nothing is known, not at once.
        let passing = error.is_retryable().then_some(DEFAULT_RETRY_AFTER);
        let retry_after = error.retry_after().or(passing);
        Self {
            retry_after: retry_after.map(whole_seconds),
            ..Self::new(code, title, status, detail(error))
        }
    }

    /// The same with another status.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status.as_u16();
        self
    }

    /// The same with another `type`.
    #[must_use]
    pub fn with_type(mut self, uri: impl Into<String>) -> Self {
        self.type_uri = uri.into();
        self
    }

    /// The same with its `type` under another base: `{base}#{code}`.
    #[must_use]
    pub fn with_type_base(self, base: &str) -> Self {
        let uri = format!("{base}#{}", self.code);
        self.with_type(uri)
    }

    /// The same with another page for people.
    #[must_use]
    pub fn with_documentation(mut self, url: impl Into<String>) -> Self {
        self.documentation = Some(url.into());
        self
    }

    /// The same without a page for people.
    #[must_use]
    pub fn without_documentation(mut self) -> Self {
        self.documentation = None;
        self
    }

    /// The same with when to try again, in whole seconds, rounded up and at least 1.
    #[must_use]
    pub fn with_retry_after(mut self, after: Duration) -> Self {
        self.retry_after = Some(whole_seconds(after));
        self
    }

    /// Whether `type` and `documentation` are those that [`new`](Self::new) gives.
    pub(super) fn has_own(&self) -> (bool, bool) {
        let explained = explanation(&self.code);
        let type_uri = explained.as_deref().unwrap_or(ABOUT_BLANK);
        (self.type_uri != type_uri, self.documentation != explained)
    }

    /// The body of its response.
    pub(super) fn body(&self) -> Vec<u8> {
        // Strings and numbers: nothing in it can fail to be written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The `Link` of its response.
    pub(super) fn link(&self) -> Option<HeaderValue> {
        let url = self.documentation.as_ref()?;
        let link = format!("<{url}>; rel=\"describedby\"; type=\"text/html\"");
        HeaderValue::try_from(link).ok()
    }
}

/// Where one of the [`CODES`] is explained.
fn explanation(code: &str) -> Option<String> {
    let known = CODES.iter().any(|(known, _)| *known == code);
    known.then(|| format!("{DOCUMENTATION}#{code}"))
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

impl IntoResponse for Problem {
    /// `application/problem+json`, with `Retry-After` where it says so, and a `Link` to the
    /// documentation (relation `describedby`), as the IETF draft shows.
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = Response::new(Body::from(self.body()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        // A refusal holds for this moment only.
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(link) = self.link() {
            headers.insert(LINK, link);
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(self);
        response
    }
}
