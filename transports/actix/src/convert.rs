//! Between actix's release of the crate `http` and the one that the rules are written for.

use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{Extensions, Payload};
use actix_web::error::PayloadError;
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderMap as ActixHeaders, HeaderName, HeaderValue};
use actix_web::{HttpMessage as _, HttpRequest, HttpResponse};
use bytes::Bytes;
use futures_util::Stream as _;
use http::HeaderMap;
use http::request::Parts;
use http_body::{Body, Frame, SizeHint};
use idem_runtime::Scope;
use idem_runtime::http::{Problem, Syntax};
use idem_tower::Buffered;
use pin_project_lite::pin_project;

/// Returns the head of a request, or `None` if it is none to the other release. Of the extensions it has the scope, which
/// authentication sets, and the syntax of keys, which a policy sets.
pub(crate) fn parts(request: &HttpRequest) -> Option<Parts> {
    let (mut parts, ()) = http::Request::new(()).into_parts();
    parts.method = request.method().as_str().parse().ok()?;
    parts.uri = request.uri().to_string().parse().ok()?;
    parts.headers = plain_headers(request.headers());
    let extensions = request.extensions();
    copy_extension::<Scope>(&extensions, &mut parts.extensions);
    copy_extension::<Syntax>(&extensions, &mut parts.extensions);
    Some(parts)
}

/// Copies the extension of this type, if it is there.
pub(crate) fn copy_extension<T: Clone + Send + Sync + 'static>(
    from: &Extensions,
    to: &mut http::Extensions,
) {
    if let Some(value) = from.get::<T>() {
        to.insert(value.clone());
    }
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
    set_headers(response.headers_mut(), headers);
}

/// Replaces all headers.
pub(crate) fn set_headers(replaced: &mut ActixHeaders, headers: &HeaderMap) {
    replaced.clear();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_str().as_bytes());
        let value = HeaderValue::from_bytes(value.as_bytes());
        if let (Ok(name), Ok(value)) = (name, value) {
            replaced.append(name, value);
        }
    }
}

/// Returns status and headers of an actix response, and the problem in its extensions.
pub(crate) fn plain_head(response: &HttpResponse<()>) -> http::Response<()> {
    let mut plain = http::Response::new(());
    *plain.status_mut() = http::StatusCode::from_u16(response.status().as_u16())
        .unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    *plain.headers_mut() = plain_headers(response.headers());
    if let Some(problem) = response.extensions().get::<Problem>() {
        plain.extensions_mut().insert(problem.clone());
    }
    plain
}

/// Returns actix's response, with the problem by which a policy knows a refusal.
pub(crate) fn response(plain: http::Response<Buffered>) -> HttpResponse {
    let (parts, body) = plain.into_parts();
    response_of(parts, BoxBody::new(body.data().clone()))
}

/// Returns actix's response of a head and actix's body, with the problem by which a policy knows a refusal.
pub(crate) fn response_of(mut head: http::response::Parts, body: BoxBody) -> HttpResponse {
    let mut response = HttpResponse::with_body(StatusCode::OK, body);
    set_head(&mut response, head.status.as_u16(), &head.headers);
    if let Some(problem) = head.extensions.remove::<Problem>() {
        response.extensions_mut().insert(problem);
    }
    response
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
        size_hint(self.body.size())
    }
}

pub(crate) fn size_hint(size: BodySize) -> SizeHint {
    match size {
        BodySize::None => SizeHint::with_exact(0),
        BodySize::Sized(length) => SizeHint::with_exact(length),
        BodySize::Stream => SizeHint::default(),
    }
}

/// The body of an actix request, for the rules.
pub(crate) struct RequestBody {
    payload: Payload,
    declared: Option<u64>,
}

impl RequestBody {
    /// Returns the body of a request with these headers.
    pub(crate) fn of(payload: Payload, headers: &HeaderMap) -> Self {
        let declared = headers.get(http::header::CONTENT_LENGTH);
        let declared = declared.and_then(|length| length.to_str().ok()?.parse().ok());
        Self { payload, declared }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = PayloadError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, PayloadError>>> {
        let polled = Pin::new(&mut self.payload).poll_next(context);
        polled.map(|data| data.map(|data| data.map(Frame::data)))
    }

    fn size_hint(&self) -> SizeHint {
        self.declared.map(SizeHint::with_exact).unwrap_or_default()
    }
}
