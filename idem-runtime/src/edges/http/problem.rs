//! Problem details (RFC 9457) of refusals.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::status::{self, CODES};
use crate::values::error::{Error, ErrorKind};
use crate::values::key::IdempotencyKey;

/// The address of [the page](super::problems) that explains each refusal, with a heading for each code;
/// a fragment is appended.
pub const DOCUMENTATION: &str =
    "https://docs.rs/idem-runtime/latest/idem_runtime/http/problems/index.html";

/// The `type` of a problem without an explanation (RFC 9457, section 4.2.1).
const ABOUT_BLANK: &str = "about:blank";

/// The problem details of a refusal: the members of RFC 9457, section 3.1, and four of our own.
///
/// [The page of problems](super::problems) explains each `code` of the library. A service can use the same
/// form for its own refusals:
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
/// No member holds another request's data or the database's message: those are only logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Problem {
    /// A URI that identifies the kind of problem.
    #[serde(rename = "type")]
    pub type_uri: String,
    /// The kind of problem in a sentence; the same for all problems of the kind.
    pub title: Cow<'static, str>,
    /// The status of the response.
    pub status: u16,
    /// The fault of this request.
    pub detail: String,
    /// The kind of problem, for programs; the same in every version.
    pub code: Cow<'static, str>,
    /// The page that explains it to people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documentation: Option<String>,
    /// The number of seconds to wait before a retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// Of a mismatch, if [`with_differing`](Self::with_differing) was called: the places at which the request differs from the
    /// first one with its key, as JSON pointers into the compared parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<String>,
    /// The same, until it is to be shown.
    #[serde(skip)]
    places: Vec<String>,
    /// The key in flight.
    #[serde(skip)]
    in_flight: Option<KeyText>,
}

/// The text of a key, which is not shown: it may be a secret of its client.
#[derive(Clone, PartialEq, Eq)]
struct KeyText(Box<str>);

impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

impl Problem {
    /// The media type of problems (RFC 9457, section 6.1).
    pub const MEDIA_TYPE: &str = "application/problem+json";

    /// Creates a problem of this kind. For one of the [`CODES`], `type` and `documentation` lead to its
    /// explanation; for any other the `type` is `about:blank`, unless [`with_type`](Self::with_type) or
    /// a policy of the edge sets it.
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
            differing: Vec::new(),
            places: Vec::new(),
            in_flight: None,
        }
    }

    /// Returns the problem of `error`.
    ///
    /// ```
    /// use idem_runtime::{Error, http::Problem};
    ///
    /// let problem = Problem::of(&Error::KeyMissing { operation: "POST /orders".into() });
    /// assert_eq!((problem.status, &*problem.code), (400, "key-missing"));
    /// ```
    pub fn of(error: &Error) -> Self {
        let (code, title) = kind(error);
        let places = match error {
            Error::Mismatch(mismatch) => mismatch.differing.clone(),
            _ => Vec::new(),
        };
        let in_flight = match error {
            Error::InFlight { key, .. } => key.clone().map(KeyText),
            _ => None,
        };
        Self {
            places,
            in_flight,
            retry_after: status::retry_after(error),
            ..Self::new(code, title, error.status(), detail(error))
        }
    }

    /// Returns the problem of a handler's own error that may pass, such as one of the database that
    /// [`is_transient`](crate::error::is_transient) knows: `try-again`, status 503, after a second. Clients of this library send
    /// the same request again, with the same key.
    ///
    /// ```
    /// let problem = idem_runtime::http::Problem::try_again();
    /// assert_eq!((&*problem.code, problem.status, problem.retry_after), ("try-again", 503, Some(1)));
    /// ```
    pub fn try_again() -> Self {
        let problem = Self::new(TRY_AGAIN.0, TRY_AGAIN.1, 503_u16, TEMPORARY);
        problem.with_retry_after(Duration::from_secs(1))
    }

    /// Sets the status.
    #[must_use]
    pub fn with_status(mut self, status: impl Into<u16>) -> Self {
        self.status = status.into();
        self
    }

    /// Sets the `type`.
    #[must_use]
    pub fn with_type(mut self, uri: impl Into<String>) -> Self {
        self.type_uri = uri.into();
        self
    }

    /// Sets the base of the `type`: `{base}#{code}`.
    #[must_use]
    pub fn with_type_base(self, base: &str) -> Self {
        let uri = format!("{base}#{}", self.code);
        self.with_type(uri)
    }

    /// Sets the page for people.
    #[must_use]
    pub fn with_documentation(mut self, url: impl Into<String>) -> Self {
        self.documentation = Some(url.into());
        self
    }

    /// Removes the page for people.
    #[must_use]
    pub fn without_documentation(mut self) -> Self {
        self.documentation = None;
        self
    }

    /// Sets when to try again, in whole seconds, rounded up and at least 1.
    #[must_use]
    pub fn with_retry_after(mut self, after: Duration) -> Self {
        self.retry_after = Some(status::whole_seconds(after));
        self
    }

    /// Shows the places at which a mismatch differs ([`Mismatch::differing`](crate::error::Mismatch::differing)): where the
    /// first request is recorded, they help a client's developer. Nothing is shown without this call.
    #[must_use]
    pub fn with_differing(mut self) -> Self {
        self.differing.clone_from(&self.places);
        self
    }

    /// Returns whether an attempt with this key is what made the refusal: [`Error::InFlight`] may also be that of a call inside a
    /// handler, whose key is another one. A policy may answer with the URL of a key's status only if this holds.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use idem_runtime::{Error, IdempotencyKey, http::Problem};
    ///
    /// let retry_after = Duration::from_secs(1);
    /// let refusal = Problem::of(&Error::InFlight { retry_after, key: Some("8e03978e".into()) });
    /// let key = "8e03978e".parse::<IdempotencyKey>()?.global();
    /// assert!(refusal.is_in_flight(&key) && !refusal.is_in_flight(&key.child("charge")?));
    /// # Ok::<_, Error>(())
    /// ```
    ///
    /// The texts of the keys are compared, and not their namespaces: of a call inside a handler that has the key of its caller, in
    /// another namespace, this holds too.
    pub fn is_in_flight(&self, key: &IdempotencyKey) -> bool {
        let in_flight = self.in_flight.as_ref();
        in_flight.is_some_and(|in_flight| *in_flight.0 == *key.as_str())
    }

    /// Returns the response's body, in JSON.
    pub fn to_json(&self) -> Vec<u8> {
        // Strings and numbers can always be serialized.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Returns the headers of the response, their names in lower case: its type, `no-store`, the [`link`](Self::link),
    /// and `Retry-After` if a retry makes sense.
    ///
    /// ```
    /// use idem_runtime::http::Problem;
    ///
    /// let closed = Problem::new("account-closed", "The account is closed", 409_u16, "closed in May");
    /// let headers: Vec<_> = closed.headers().collect();
    /// assert_eq!(headers[0], ("content-type", "application/problem+json".to_owned()));
    /// assert_eq!(headers[1], ("cache-control", "no-store".to_owned()));
    /// ```
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let always = [
            ("content-type", Self::MEDIA_TYPE.to_owned()),
            // A refusal must not be cached.
            ("cache-control", "no-store".to_owned()),
        ];
        let link = self.link().map(|link| ("link", link));
        let seconds = self
            .retry_after
            .map(|seconds| ("retry-after", seconds.to_string()));
        always.into_iter().chain(link).chain(seconds)
    }

    /// Returns the value of the response's `Link` header, which leads to the documentation (relation
    /// `describedby`), as in the IETF draft.
    pub fn link(&self) -> Option<String> {
        let url = self.documentation.as_ref()?;
        Some(format!("<{url}>; rel=\"describedby\"; type=\"text/html\""))
    }
}

/// Returns the address of the explanation of one of the [`CODES`].
fn explanation(code: &str) -> Option<String> {
    let known = CODES.iter().any(|(known, _)| *known == code);
    known.then(|| format!("{DOCUMENTATION}#{code}"))
}

/// The code and the title of what passes.
const TRY_AGAIN: (&str, &str) = ("try-again", "Try again with the same Idempotency-Key");

/// The detail of what passes.
const TEMPORARY: &str = "a temporary condition: try again with the same key";

/// Returns the code and the title of an error's kind.
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
        ErrorKind::Transient => TRY_AGAIN,
        // A newer build wrote the record.
        ErrorKind::Incompatible if error.is_retryable() => TRY_AGAIN,
        ErrorKind::Unavailable => ("unavailable", "The service is unavailable"),
        ErrorKind::Misuse if matches!(error, Error::TooLargeToRecord { .. }) => {
            ("result-too-large", "The result is too large to record")
        }
        ErrorKind::Misuse | ErrorKind::Incompatible | ErrorKind::Database => {
            ("internal", "The server is at fault")
        }
    }
}

/// Returns the fault, without the parts that are only logged.
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
            "this key was used before, for another request; nothing was done: send a new request with a new key"
                .to_owned()
        }
        Error::RecordedFailure(_) => {
            "an earlier request with this key failed permanently, and a retry gets the same failure"
                .to_owned()
        }
        Error::OutcomeUnknown { .. } => {
            "an earlier request with this key was interrupted, and its outcome is not known yet"
                .to_owned()
        }
        Error::TooLargeToRecord { .. } => {
            "the result of this request is too large to be recorded, so it was not kept: a retry with the same key is safe, and does not help until the service is changed"
                .to_owned()
        }
        error if error.is_retryable() => TEMPORARY.to_owned(),
        _ => "the server could not serve this request; its log says why".to_owned(),
    }
}
