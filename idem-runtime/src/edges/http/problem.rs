//! Refusals as RFC 9457 problem details.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::status::{self, CODES};
use crate::values::error::{Error, ErrorKind};

/// Where each refusal is explained: [the page](super::problems) with a heading for each code, which
/// a fragment names.
pub const DOCUMENTATION: &str =
    "https://docs.rs/idem-runtime/latest/idem_runtime/http/problems/index.html";

/// The `type` of a problem that has no explanation anywhere (RFC 9457, section 4.2.1).
const ABOUT_BLANK: &str = "about:blank";

/// What a client is told of a refusal: the members of RFC 9457, section 3.1, and two of our own.
///
/// [The page of problems](super::problems) explains each `code` of the library's. A service tells of
/// its own refusals in the same shape:
///
/// ```
/// use idem_runtime::http::Problem;
///
/// let closed = Problem::new(
///     "account-closed",
///     "The account is closed",
///     409_u16, // or a framework's status: `StatusCode::CONFLICT`
///     "account 17 was closed in May",
/// )
/// .with_type("https://api.example.com/problems#account-closed");
/// assert_eq!(closed.status, 409);
/// ```
///
/// No member holds another request's data, nor what the database said: that is for the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documentation: Option<String>,
    /// In how many seconds to try again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
}

impl Problem {
    /// The media type of problems (RFC 9457, section 6.1).
    pub const MEDIA_TYPE: &str = "application/problem+json";

    /// A problem of this kind. The `type` of one of the [`CODES`] is its explanation, which
    /// `documentation` names too; any other's is `about:blank`, unless
    /// [`with_type`](Self::with_type) or a policy of the edge says better.
    pub fn new(
        code: impl Into<Cow<'static, str>>,
        title: impl Into<Cow<'static, str>>,
        status: impl Into<u16>,
        detail: impl Into<String>,
    ) -> Self {
        let code = code.into();
        let explained = explanation(&code);
        Self {
            type_uri: explained.clone().unwrap_or_else(|| ABOUT_BLANK.to_owned()),
            documentation: explained,
            title: title.into(),
            status: status.into(),
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
        Self {
            retry_after: status::retry_after(error),
            ..Self::new(code, title, error.status(), detail(error))
        }
    }

    /// The same with another status.
    #[must_use]
    pub fn with_status(mut self, status: impl Into<u16>) -> Self {
        self.status = status.into();
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
        self.retry_after = Some(status::whole_seconds(after));
        self
    }

    /// Returns the body of its response, in JSON.
    pub fn to_json(&self) -> Vec<u8> {
        // Strings and numbers: nothing in it can fail to be written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Returns the value of the `Link` of its response, which leads to its documentation (relation
    /// `describedby`), as the IETF draft shows.
    pub fn link(&self) -> Option<String> {
        let url = self.documentation.as_ref()?;
        Some(format!("<{url}>; rel=\"describedby\"; type=\"text/html\""))
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
