//! Converts errors, problems and replays to responses.

use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::HeaderValue;

use super::header::IDEMPOTENT_REPLAYED;
use super::problem::Problem;
use crate::values::error::Error;
use crate::values::replay::Replayable;

impl IntoResponse for Error {
    /// The response of [`Problem::of`] the error, without the database's message. A recorded failure has
    /// the header `Idempotent-Replayed: true`.
    fn into_response(self) -> Response {
        let mut response = Problem::of(&self).into_response();
        if matches!(self, Self::RecordedFailure(_)) {
            set_replayed(&mut response);
        }
        response
    }
}

impl<T: IntoResponse> IntoResponse for Replayable<T> {
    /// The value's response; a replay also has the header `Idempotent-Replayed: true`.
    fn into_response(self) -> Response {
        let replayed = self.replayed();
        let mut response = self.into_inner().into_response();
        if replayed {
            set_replayed(&mut response);
        }
        response
    }
}

impl IntoResponse for Problem {
    /// `application/problem+json`, with [`Problem::headers`]. The response's extensions hold the problem.
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = Response::new(Body::from(self.to_json()));
        *response.status_mut() = status;
        for (name, value) in self.headers() {
            // A `Link` to the user's own page may be none that a header can hold.
            if let Ok(value) = HeaderValue::try_from(value) {
                response.headers_mut().insert(name, value);
            }
        }
        response.extensions_mut().insert(self);
        response
    }
}

fn set_replayed(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
}
