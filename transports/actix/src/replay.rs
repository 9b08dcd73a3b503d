//! Results and failures that say that they are replays.

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, Responder, ResponseError};
use idem_runtime::Replayable;
use idem_runtime::http::header::IDEMPOTENT_REPLAYED;

/// A result or a failure of an idempotent handler; a replay has the header `Idempotent-Replayed: true`.
///
/// Return `Replay(placed.map(|placed| HttpResponse::Created().json(placed)))`. For failures call the handler with
/// [`ReplayExt`](idem_runtime::ReplayExt): `decline(..).replayable().await?` in a web handler whose error is
/// `Replay<DeclineError>`.
pub struct Replay<T>(pub Replayable<T>);

impl<T> From<Replayable<T>> for Replay<T> {
    fn from(replay: Replayable<T>) -> Self {
        Self(replay)
    }
}

impl<T: fmt::Debug> fmt::Debug for Replay<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Replay").field(&self.0).finish()
    }
}

impl<T: fmt::Display> fmt::Display for Replay<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (*self.0).fmt(f)
    }
}

impl<T: Responder> Responder for Replay<T> {
    type Body = T::Body;

    fn respond_to(self, request: &HttpRequest) -> HttpResponse<T::Body> {
        let replayed = self.0.replayed();
        marked(self.0.into_inner().respond_to(request), replayed)
    }
}

impl<E: ResponseError> ResponseError for Replay<E> {
    fn status_code(&self) -> StatusCode {
        self.0.status_code()
    }

    fn error_response(&self) -> HttpResponse {
        marked(self.0.error_response(), self.0.replayed())
    }
}

fn marked<B>(mut response: HttpResponse<B>, replayed: bool) -> HttpResponse<B> {
    if replayed {
        let name = HeaderName::from_static(IDEMPOTENT_REPLAYED);
        let headers = response.headers_mut();
        headers.insert(name, HeaderValue::from_static("true"));
    }
    response
}
