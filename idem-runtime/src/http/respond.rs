//! Answers as responses.

use axum_core::response::{IntoResponse, Response};
use http::HeaderValue;

use super::header::IDEMPOTENT_REPLAYED;
use super::problem::Problem;
use crate::error::Error;
use crate::replay::Replayable;

impl IntoResponse for Error {
    /// [`Problem::of`] it. What the database said stays out of it. A recorded failure bears
    /// `Idempotent-Replayed: true`.
    fn into_response(self) -> Response {
        let mut response = Problem::of(&self).into_response();
        if matches!(self, Self::RecordedFailure(_)) {
            mark(&mut response);
        }
        response
    }
}

impl<T: IntoResponse> IntoResponse for Replayable<T> {
    /// The value's response; a replay also bears `Idempotent-Replayed: true`.
    fn into_response(self) -> Response {
        let replayed = self.replayed();
        let mut response = self.into_inner().into_response();
        if replayed {
            mark(&mut response);
        }
        response
    }
}

fn mark(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
}
