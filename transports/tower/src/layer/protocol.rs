//! What a protocol over HTTP decides of the layer, which does everything else.

use std::fmt;

use http::header::{HeaderMap, HeaderName};
use http::{Response, Uri, request, response};
use idem_runtime::http::Problem;
use idem_runtime::policy::OnLapse;
use idem_runtime::{Error, IdempotencyKey};

use super::Keep;
use crate::body::Buffered;

/// A protocol whose calls are HTTP requests: which of them have a key and where it stands, which headers describe their
/// bodies, how a refusal is written, and how a response is judged.
///
/// Every [`WholeUri`](super::WholeUri) is HTTP itself. The crate of another protocol implements this for a type of its own,
/// and makes its layer of a [`ReplayLayer`](super::ReplayLayer) of that type; `idem-tonic` does so for gRPC.
pub trait Protocol: 'static {
    /// The options that only this protocol has; [`ReplayLayer::with_options`](super::ReplayLayer::with_options) sets them.
    type Options: Clone + Default + fmt::Debug + Send + Sync + 'static;

    /// The header that says how a body is encoded. It is compared, except for `identity`, and a response that has another
    /// value cannot be recorded.
    const CODING: HeaderName;

    /// Other headers that describe a body; they are compared.
    const OF_THE_BODY: &'static [HeaderName];

    /// Returns whether the layer applies to a request. Any other is passed on.
    fn protects(options: &Self::Options, request: &request::Parts) -> bool;

    /// Returns the key of a request, without a scope, or `None` if it has none and none is required.
    ///
    /// # Errors
    /// Returns [`Error::KeyMissing`] if a required key is missing, and [`Error::Invalid`] if it breaks a rule of the protocol.
    fn key(request: &request::Parts, is_required: bool) -> Result<Option<IdempotencyKey>, Error>;

    /// Returns the URI as the client sent it, of which the path and the query are compared.
    fn uri(request: &request::Parts) -> &Uri;

    /// Removes from a request what asks the service for a response that cannot be recorded.
    fn ask_for_what_can_be_recorded(request: &mut HeaderMap);

    /// Decides by its head how a response is treated, or returns `None` if that is decided at its end.
    fn judge(
        options: &Self::Options,
        response: &response::Parts,
        on_lapse: OnLapse,
    ) -> Option<Keep>;

    /// Decides how a response is treated that was read to its end, if its head did not decide.
    fn judge_at_end(
        options: &Self::Options,
        response: &response::Parts,
        trailers: Option<&HeaderMap>,
        on_lapse: OnLapse,
    ) -> Keep;

    /// Returns the response of a refusal.
    fn refusal(options: &Self::Options, error: &Error) -> Response<Buffered>;

    /// Returns the response of a refusal of the layer's own. The codes are `request-too-large`, `request-unreadable`,
    /// `response-not-storable` and `replay-forbidden`.
    fn problem(options: &Self::Options, problem: Problem) -> Response<Buffered>;

    /// Marks a recorded response as a replay.
    fn mark_replayed(response: &mut Response<Buffered>);
}
