//! Between actix's release of the crate `http` and the one that the rules are written for.

use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, MessageBody};
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderMap as ActixHeaders, HeaderName, HeaderValue};
use actix_web::{HttpMessage as _, HttpRequest, HttpResponse};
use bytes::Bytes;
use http::HeaderMap;
use http::request::Parts;
use http_body::{Body, Frame, SizeHint};
use idem_runtime::http::{Problem, Syntax};
use idem_tower::Buffered;
use pin_project_lite::pin_project;

/// Returns the head of a request. Of its extensions it has the syntax of keys, which a policy sets.
pub(crate) fn parts(request: &HttpRequest) -> Parts {
    let (mut parts, ()) = http::Request::new(()).into_parts();
    // Both releases accept the same methods and paths.
    if let Ok(method) = request.method().as_str().parse() {
        parts.method = method;
    }
    if let Ok(uri) = request.uri().to_string().parse() {
        parts.uri = uri;
    }
    parts.headers = plain_headers(request.headers());
    if let Some(syntax) = request.extensions().get::<Syntax>() {
        parts.extensions.insert(*syntax);
    }
    parts
}

/// Returns the headers in the release of the rules.
pub(crate) fn plain_headers(headers: &ActixHeaders) -> HeaderMap {
    let mut plain = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let name = http::HeaderName::from_bytes(name.as_str().as_bytes());
        let value = http::HeaderValue::from_bytes(value.as_bytes());
        if let (Ok(name), Ok(value)) = (name, value) {
            plain.append(name, value);
        }
    }
    plain
}

/// Replaces status and headers of an actix response.
pub(crate) fn set_head<B>(response: &mut HttpResponse<B>, status: u16, headers: &HeaderMap) {
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let replaced = response.headers_mut();
    replaced.clear();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_str().as_bytes());
        let value = HeaderValue::from_bytes(value.as_bytes());
        if let (Ok(name), Ok(value)) = (name, value) {
            replaced.append(name, value);
        }
    }
}

/// Returns actix's response, with the problem by which a policy knows a refusal.
pub(crate) fn response(plain: http::Response<Buffered>) -> HttpResponse {
    let (mut parts, body) = plain.into_parts();
    let mut response = HttpResponse::with_body(StatusCode::OK, body.data().clone());
    set_head(&mut response, parts.status.as_u16(), &parts.headers);
    if let Some(problem) = parts.extensions.remove::<Problem>() {
        response.extensions_mut().insert(problem);
    }
    response.map_into_boxed_body()
}

pin_project! {
    /// The body of an actix response, for the rules.
    pub(crate) struct ActixBody<B> {
        #[pin]
        body: B,
    }
}

impl<B> ActixBody<B> {
    pub(crate) fn of(body: B) -> Self {
        Self { body }
    }

    pub(crate) fn into_inner(self) -> B {
        self.body
    }
}

impl<B: MessageBody> Body for ActixBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let polled = self.project().body.poll_next(context);
        polled.map(|data| data.map(|data| data.map(Frame::data)))
    }

    fn size_hint(&self) -> SizeHint {
        match self.body.size() {
            BodySize::None => SizeHint::with_exact(0),
            BodySize::Sized(length) => SizeHint::with_exact(length),
            BodySize::Stream => SizeHint::default(),
        }
    }
}
