//! The options of a policy, shared by the policy, its edits and its documents.

use std::fmt;
use std::sync::Arc;

use http::StatusCode;
use idem_runtime::IdempotencyKey;

use crate::header::Syntax;

/// The parameter of a status resource's query.
pub(crate) const KEY_PARAMETER: &str = "key";

#[derive(Debug, Clone, Default)]
pub(crate) struct PolicyOptions {
    pub(crate) syntax: Syntax,
    pub(crate) mismatch: Option<StatusCode>,
    pub(crate) in_flight: InFlightAnswer,
    pub(crate) type_base: Option<String>,
    pub(crate) documentation: Documentation,
    pub(crate) shows_differing: bool,
}

/// The page that explains problems to people.
#[derive(Debug, Clone, Default)]
pub(crate) enum Documentation {
    /// The library's page.
    #[default]
    Library,
    /// The page at this URL.
    Page(String),
    /// No page.
    None,
}

/// The response to a request whose key is in flight.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum InFlightAnswer {
    /// 409 with a problem, as in the IETF draft.
    #[default]
    Conflict,
    /// 425 Too Early (RFC 8470, section 5.2) with the same problem.
    TooEarly,
    /// 202 with a `Location`, a URL where the client can query the outcome.
    ///
    /// Only a request whose own key is in flight is accepted: it is being processed (RFC 9110, section 15.3.3), and the URL is
    /// that of its key. A handler that calls another one may fail because the key of that call is in flight, a
    /// [child key](IdempotencyKey::child) for example. Nobody processes its request then: it gets the 409. Give such calls child keys: one with the same key in
    /// another namespace looks like the request's own.
    Accepted(StatusUrl),
}

/// Returns the URL of a key's status. It gets only the key: the service of that URL must determine the
/// caller itself, as this service did.
#[derive(Clone)]
pub struct StatusUrl(Arc<dyn Fn(&IdempotencyKey) -> String + Send + Sync>);

impl StatusUrl {
    pub(crate) fn of(&self, key: &IdempotencyKey) -> String {
        (self.0)(key)
    }
}

impl InFlightAnswer {
    /// Returns [`InFlightAnswer::Accepted`] with the URL that `status_url` returns for the key. The URL must
    /// be a valid header value: percent-encode the parts that come from the key.
    pub fn accepted(
        status_url: impl Fn(&IdempotencyKey) -> String + Send + Sync + 'static,
    ) -> Self {
        Self::Accepted(StatusUrl(Arc::new(status_url)))
    }

    /// Returns [`InFlightAnswer::Accepted`] with the key as the parameter `key` of `base`, a path or a URL without a query:
    /// `/operations?key=8e03978e`. A [`StatusResource`](crate::StatusResource) answers there.
    ///
    /// A query holds every key: gateways decode, merge or refuse some characters of a path.
    pub fn status_at(base: impl Into<String>) -> Self {
        let base = base.into();
        Self::accepted(move |key| {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.append_pair(KEY_PARAMETER, key.as_str());
            format!("{base}?{}", query.finish())
        })
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
