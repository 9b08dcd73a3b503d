//! Refusals and replays as responses.

use http::header::HeaderValue;
use http::{HeaderMap, Response, StatusCode};
use idem_runtime::http::Problem;
use idem_runtime::{Error, Replayable};

use crate::body::Buffered;
use crate::header::IDEMPOTENT_REPLAYED;

/// A refusal of the library, as a response.
///
/// ```
/// use idem_runtime::Error;
/// use idem_tower::ToResponse as _;
///
/// let refusal = Error::KeyMissing { operation: "POST /orders".into() }.to_response();
/// assert_eq!(refusal.status(), 400);
/// assert_eq!(refusal.headers()["content-type"], "application/problem+json");
/// ```
pub trait ToResponse {
    /// Returns the response. The database's message is not in it.
    fn to_response(&self) -> Response<Buffered>;
}

impl ToResponse for Problem {
    /// `application/problem+json`, with [`Problem::headers`]. The response's extensions hold the problem, by which an
    /// [`HttpPolicy`](crate::HttpPolicy) knows it.
    fn to_response(&self) -> Response<Buffered> {
        let mut response = of(self.status, self.headers(), self.to_json());
        response.extensions_mut().insert(self.clone());
        response
    }
}

impl ToResponse for Error {
    /// The response of [`Problem::of`] the error. A recorded failure has the header `Idempotent-Replayed: true`.
    fn to_response(&self) -> Response<Buffered> {
        let mut response = Problem::of(self).to_response();
        if matches!(self, Self::RecordedFailure(_)) {
            set_replayed(response.headers_mut());
        }
        response
    }
}

/// Returns the response of a handler's result; a replay also has the header `Idempotent-Replayed: true`.
///
/// ```
/// # use http::Response;
/// # use idem_runtime::Replayable;
/// use idem_tower::replayable;
///
/// # fn respond(placed: Replayable<i64>) -> Response<String> {
/// replayable(placed.map(|number| Response::new(format!("order {number}"))))
/// # }
/// ```
pub fn replayable<B>(response: Replayable<Response<B>>) -> Response<B> {
    let replayed = response.replayed();
    let mut response = response.into_inner();
    if replayed {
        set_replayed(response.headers_mut());
    }
    response
}

/// Returns a response of these parts.
pub(crate) fn of(
    status: u16,
    headers: impl Iterator<Item = (&'static str, String)>,
    body: Vec<u8>,
) -> Response<Buffered> {
    let mut response = Response::new(Buffered::from(body));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in headers {
        // A `Link` to the user's own page may be none that a header can hold.
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

pub(crate) fn set_replayed(headers: &mut HeaderMap) {
    headers.insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
}
