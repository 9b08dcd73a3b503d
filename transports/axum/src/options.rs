//! What a policy says: data that the policy, its edits and its documents share.

use std::fmt;
use std::sync::Arc;

use http::StatusCode;
use idem_runtime::IdempotencyKey;

use crate::header::Syntax;

#[derive(Debug, Clone, Default)]
pub(crate) struct PolicyOptions {
    pub(crate) syntax: Syntax,
    pub(crate) mismatch: Option<StatusCode>,
    pub(crate) in_flight: InFlightAnswer,
    pub(crate) type_base: Option<String>,
    pub(crate) documentation: Documentation,
}

/// Which page explains problems to people.
#[derive(Debug, Clone, Default)]
pub(crate) enum Documentation {
    /// The library's.
    #[default]
    Library,
    /// That at this URL.
    Page(String),
    /// None.
    None,
}

/// How a request is answered whose key is in flight.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum InFlightAnswer {
    /// 409 with a problem, as the IETF draft says.
    #[default]
    Conflict,
    /// 425 Too Early (RFC 8470, section 5.2) with the same problem.
    TooEarly,
    /// 202 with the `Location` of a URL where the client can ask for the outcome.
    Accepted(StatusUrl),
}

/// Makes the URL of a key's status. It is told only the key: whose it is, the service of that URL
/// finds out as this one did.
#[derive(Clone)]
pub struct StatusUrl(Arc<dyn Fn(&IdempotencyKey) -> String + Send + Sync>);

impl StatusUrl {
    pub(crate) fn of(&self, key: &IdempotencyKey) -> String {
        (self.0)(key)
    }
}

impl InFlightAnswer {
    /// [`InFlightAnswer::Accepted`], at the URL that `status_url` makes of the key. It must be fit
    /// for a header: percent-encode what comes from the key.
    pub fn accepted(
        status_url: impl Fn(&IdempotencyKey) -> String + Send + Sync + 'static,
    ) -> Self {
        Self::Accepted(StatusUrl(Arc::new(status_url)))
    }
}

impl fmt::Debug for InFlightAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Conflict => "Conflict",
            Self::TooEarly => "TooEarly",
            Self::Accepted(_) => "Accepted(..)",
        })
    }
}
