//! Statuses of refusals: one mapping from the kinds of errors to gRPC's codes, and the details of each.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use idem_runtime::error::{ErrorKind, Field};
use idem_runtime::http::{self, Problem};
use idem_runtime::{Error, error::Invalid};
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

use crate::metadata::{IDEMPOTENCY_KEY, IDEMPOTENT_REPLAYED, RETRY_PUSHBACK};

/// The `domain` of [`ErrorInfo`](tonic_types::ErrorInfo), unless [`Refusal::with_domain`] sets another.
pub const DOMAIN: &str = "idem-runtime";

/// Returns the code of an error.
///
/// | kind | code | by gRPC's documentation of the codes |
/// |---|---|---|
/// | key missing or invalid, request invalid | `INVALID_ARGUMENT` | problematic whatever the state of the system |
/// | in flight | `UNAVAILABLE` | the client can retry just the failing call |
/// | temporary condition, store unreachable, a record of a newer build | `UNAVAILABLE` | the same |
/// | mismatch | `FAILED_PRECONDITION` | the state of the system refuses it: the same message with a new key is accepted |
/// | recorded failure | `FAILED_PRECONDITION` | a retry gets the same |
/// | outcome unknown | `FAILED_PRECONDITION` | not to be retried until the state has been fixed: until somebody has found out |
/// | fault of the program, of a record or of a statement | `INTERNAL` | an invariant is broken |
///
/// `ABORTED` is for a client that must retry at a higher level, such as a read-modify-write. A client whose key is in flight
/// must do the opposite: send the very same call again. With `UNAVAILABLE`, a retry policy does it by itself.
///
/// ```
/// use std::time::Duration;
///
/// use idem_runtime::Error;
/// use tonic::Code;
///
/// let in_flight = Error::InFlight { retry_after: Duration::from_secs(1), key: None };
/// assert_eq!(idem_tonic::code(&in_flight), Code::Unavailable);
/// ```
pub fn code(error: &Error) -> Code {
    match error.kind() {
        ErrorKind::Invalid => Code::InvalidArgument,
        ErrorKind::Mismatch | ErrorKind::RecordedFailure | ErrorKind::OutcomeUnknown => {
            Code::FailedPrecondition
        }
        _ if error.is_retryable() => Code::Unavailable,
        _ => Code::Internal,
    }
}

/// The description of a refusal, which becomes a [`Status`].
///
/// The status has a message without another request's data or the database's message, and these details and metadata:
///
/// - `google.rpc.ErrorInfo`: `reason` is the code of [the page of problems](idem_runtime::http::problems) in upper case with
///   underscores, such as `IN_FLIGHT`.
/// - `google.rpc.RetryInfo`: how long to wait before a retry, if a retry makes sense.
/// - `google.rpc.BadRequest`: the metadata or the parameter at fault, for `INVALID_ARGUMENT`.
/// - `google.rpc.Help`: the link to the explanation.
/// - `grpc-retry-pushback-ms`, which gRPC's retry policies read (gRFC A6): the same wait, or `-1` where a retry does not help.
/// - `idempotent-replayed: true`, if the refusal is the replay of a recorded failure.
///
/// ```
/// use std::time::Duration;
///
/// use idem_runtime::Error;
/// use idem_tonic::Refusal;
/// use tonic::Code;
/// use tonic_types::StatusExt as _;
///
/// let error = Error::InFlight { retry_after: Duration::from_millis(250), key: None };
/// let status = Refusal::of(&error)
///     .with_code(Code::Aborted) // a gateway in front counts UNAVAILABLE against the host
///     .with_domain("payments.example.com")
///     .into_status();
/// assert_eq!(status.code(), Code::Aborted);
/// let details = status.get_error_details();
/// assert_eq!(details.error_info().unwrap().reason, "IN_FLIGHT");
/// assert_eq!(details.retry_info().unwrap().retry_delay, Some(Duration::from_millis(250)));
/// ```
#[derive(Debug, Clone)]
pub struct Refusal {
    code: Code,
    domain: Cow<'static, str>,
    problem: Problem,
    /// The field at fault and what is wrong with it.
    violation: Option<(String, String)>,
    retry_after: Option<Duration>,
    is_replay: bool,
}

impl Refusal {
    /// Returns the refusal of `error`.
    pub fn of(error: &Error) -> Self {
        let mut problem = Problem::of(error);
        let violation = match error {
            Error::KeyMissing { .. } => {
                problem.detail = format!(
                    "the method needs the metadata `{IDEMPOTENCY_KEY}`, and the call has none"
                );
                Some((IDEMPOTENCY_KEY.to_owned(), "is missing".to_owned()))
            }
            Error::Invalid(invalid) => Some((field(invalid), invalid.reason().to_string())),
            _ => None,
        };
        Self {
            code: code(error),
            domain: Cow::Borrowed(DOMAIN),
            problem,
            violation,
            retry_after: error
                .retry_after()
                .or_else(|| http::retry_after(error).map(Duration::from_secs)),
            is_replay: matches!(error, Error::RecordedFailure(_)),
        }
    }

    /// Returns the refusal of a transport's own.
    #[cfg(feature = "layer")]
    pub(crate) fn of_problem(problem: Problem, code: Code) -> Self {
        Self {
            code,
            domain: Cow::Borrowed(DOMAIN),
            problem,
            violation: None,
            retry_after: None,
            is_replay: false,
        }
    }

    /// Sets the code.
    #[must_use]
    pub fn with_code(mut self, code: Code) -> Self {
        self.code = code;
        self
    }

    /// Sets the `domain` of `ErrorInfo`: the name of your service, if clients are to see one domain.
    #[must_use]
    pub fn with_domain(mut self, domain: impl Into<Cow<'static, str>>) -> Self {
        self.domain = domain.into();
        self
    }

    /// Returns the code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Returns the description that all transports share.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Returns the status, with its details and metadata.
    pub fn into_status(self) -> Status {
        let mut details = ErrorDetails::new();
        details.set_error_info(reason(&self.problem.code), self.domain, HashMap::new());
        if let Some((field, description)) = self.violation {
            details.add_bad_request_violation(field, description);
        }
        if self.retry_after.is_some() {
            details.set_retry_info(self.retry_after);
        }
        if let Some(url) = self.problem.documentation {
            details.add_help_link(self.problem.title, url);
        }
        let mut metadata = MetadataMap::new();
        metadata.insert(RETRY_PUSHBACK, pushback(self.retry_after));
        if self.is_replay {
            set_replayed(&mut metadata);
        }
        let message = self.problem.detail;
        Status::with_error_details_and_metadata(self.code, message, details, metadata)
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        refusal.into_status()
    }
}

/// Marks an answer as a replay.
pub(crate) fn set_replayed(metadata: &mut MetadataMap) {
    metadata.insert(IDEMPOTENT_REPLAYED, MetadataValue::from_static("true"));
}

/// `key-missing` as `KEY_MISSING`, the form of a reason in `error_details.proto`.
fn reason(code: &str) -> String {
    code.to_ascii_uppercase().replace('-', "_")
}

/// Returns the name of what is at fault, as the client knows it.
fn field(invalid: &Invalid) -> String {
    match invalid.field() {
        Field::Key | Field::Header(_) => IDEMPOTENCY_KEY.to_owned(),
        Field::Metadata(name) | Field::Parameter(name) => name.clone().into_owned(),
        other => other.to_string(),
    }
}

/// Milliseconds, rounded up: a signed 32-bit number.
fn pushback(retry_after: Option<Duration>) -> MetadataValue<tonic::metadata::Ascii> {
    let wait = retry_after.map_or(-1, |wait| {
        let millis = wait.as_nanos().div_ceil(1_000_000);
        i32::try_from(millis).unwrap_or(i32::MAX)
    });
    MetadataValue::from(wait)
}

#[cfg(test)]
mod tests;
