//! Refusals as error objects.

use idem_runtime::Error;
use idem_runtime::http::Problem;
use idem_runtime::meta::{META, MetaNames};
use jsonrpsee_types::ErrorObjectOwned;
use jsonrpsee_types::error::{INTERNAL_ERROR_CODE, INVALID_PARAMS_CODE};
use serde::Serialize;

/// The code of the error object for each code of a [`Problem`] that a call can be refused with.
///
/// `key-missing` and `invalid` are faults of the parameters, and `internal` is the server's: these have the codes of
/// the JSON-RPC specification. The others are in its range for servers, where jsonrpsee has none of its own. Nothing here refuses
/// with `replay-forbidden`: its code is for a problem of the service's own.
pub const CODES: [(&str, i32); 11] = [
    ("key-missing", INVALID_PARAMS_CODE),
    ("invalid", INVALID_PARAMS_CODE),
    ("in-flight", -32040),
    ("mismatch", -32041),
    ("recorded-failure", -32042),
    ("outcome-unknown", -32043),
    ("try-again", -32044),
    ("unavailable", -32045),
    ("result-too-large", -32046),
    ("replay-forbidden", -32047),
    ("internal", INTERNAL_ERROR_CODE),
];

/// A refusal of the library, as an error object: its `code` is one of [`CODES`], its `message` the problem's title, and its
/// `data` the members of the [`Problem`], with `retry_after` in seconds where a retry makes sense. `data.replayed` is
/// `true` if a recorded failure is answered again.
///
/// It is what the `From` of a service's own error uses:
///
/// ```
/// use idem_jsonrpc::Refusal;
/// use idem_runtime::error::is_transient;
/// use idem_runtime::http::Problem;
/// use jsonrpsee::types::{ErrorCode, ErrorObjectOwned};
///
/// #[derive(Debug)]
/// enum PaymentError {
///     Declined,
///     Idempotency(idem_runtime::Error),
///     Database(sqlx::Error),
/// }
///
/// impl From<PaymentError> for ErrorObjectOwned {
///     fn from(error: PaymentError) -> Self {
///         match error {
///             PaymentError::Declined => Self::owned(1, "declined", None::<()>),
///             PaymentError::Idempotency(error) => Refusal::from(error).into(),
///             // So that clients send the call again.
///             PaymentError::Database(error) if is_transient(&error) => Refusal::from(Problem::try_again()).into(),
///             PaymentError::Database(_) => ErrorCode::InternalError.into(),
///         }
///     }
/// }
///
/// let gone = PaymentError::Idempotency(idem_runtime::Error::LeaseLost);
/// let object = ErrorObjectOwned::from(gone);
/// assert_eq!(object.code(), -32044);
/// assert!(object.data().is_some_and(|data| data.get().contains("\"retry_after\":1")));
/// let lost = PaymentError::Database(sqlx::Error::PoolTimedOut);
/// assert_eq!(ErrorObjectOwned::from(lost).code(), -32044);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    problem: Box<Problem>,
    replayed: bool,
}

impl Refusal {
    /// Returns the refusal of a call for `error`. The text for a missing key tells the name of its member, if it is known.
    pub(crate) fn of(error: &Error, names: Option<&MetaNames>) -> Self {
        let mut problem = Problem::of(error);
        if let Error::KeyMissing { operation } = error {
            let member = names.map(MetaNames::idempotency_key);
            let member = member.map(|name| format!("[{name:?}]"));
            problem.detail = format!(
                "{operation} needs a key in `params.{META}{}`, and the call has none",
                member.unwrap_or_default()
            );
            problem.title = "The idempotency key is missing".into();
        }
        Self {
            problem: Box::new(problem),
            replayed: matches!(error, Error::RecordedFailure(_)),
        }
    }

    /// Returns the problem.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Shows the places at which a mismatch differs: see [`Problem::with_differing`].
    #[must_use]
    pub fn with_differing(mut self) -> Self {
        self.problem = Box::new(self.problem.with_differing());
        self
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        // Which names are read, the module knows.
        Self::of(&error, None)
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self {
            problem: Box::new(problem),
            replayed: false,
        }
    }
}

/// The data of an error object.
#[derive(Serialize)]
struct Data<'p> {
    #[serde(flatten)]
    problem: &'p Problem,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replayed: bool,
}

impl From<Refusal> for ErrorObjectOwned {
    fn from(Refusal { problem, replayed }: Refusal) -> Self {
        let data = Data {
            problem: &problem,
            replayed,
        };
        Self::owned(code(&problem.code), &*problem.title, Some(data))
    }
}

/// Returns the code of an error object for a problem's code: that of a problem of the service's own is that of a server's
/// fault.
fn code(code: &str) -> i32 {
    let known = CODES.iter().find(|(known, _)| *known == code);
    known.map_or(INTERNAL_ERROR_CODE, |(_, code)| *code)
}

#[cfg(test)]
mod tests {
    use idem_runtime::http::CODES as PROBLEMS;

    use super::*;

    /// Those of the layer for whole HTTP responses, which JSON-RPC has no part in.
    const OF_HTTP: [&str; 3] = [
        "request-too-large",
        "request-unreadable",
        "response-not-storable",
    ];

    #[test]
    fn a_missing_key_is_asked_for_under_the_name_that_is_read_or_under_none() {
        let error = || Error::KeyMissing {
            operation: "pay".into(),
        };
        let known = Refusal::of(&error(), Some(&MetaNames::of("a")));
        assert!(
            known
                .problem
                .detail
                .contains(r#"`params._meta["a/idempotencyKey"]`"#)
        );
        let unknown = Refusal::from(error());
        assert!(unknown.problem.detail.contains("`params._meta`"));
    }

    #[test]
    fn each_problem_of_a_call_has_a_code_and_no_two_kinds_of_the_servers_share_one() {
        let problems = PROBLEMS.iter().map(|(code, _)| *code);
        let mut problems: Vec<_> = problems.filter(|code| !OF_HTTP.contains(code)).collect();
        let mut named: Vec<_> = CODES.iter().map(|(code, _)| *code).collect();
        problems.sort_unstable();
        named.sort_unstable();
        assert_eq!(problems, named);
        let own = CODES.iter().map(|(_, code)| *code);
        let mut own: Vec<_> = own
            .filter(|code| (-32099..=-32000).contains(code))
            .collect();
        let all = own.len();
        own.dedup();
        assert_eq!((own.len(), all), (8, 8));
        // jsonrpsee's own end at -32011.
        assert!(own.iter().all(|code| *code <= -32040));
    }
}
