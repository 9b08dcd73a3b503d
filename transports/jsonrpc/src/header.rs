//! The HTTP header `Idempotency-Key`, for requests that make one call.

use std::task::{Context, Poll};

use http::header::{HeaderMap, UPGRADE};
use http::{HeaderValue, Request};
use idem_runtime::IdempotencyKey;
use idem_runtime::error::{Field, Invalid, Reason};
use idem_runtime::http::header as rules;
pub use idem_runtime::http::header::Syntax;
use tower_layer::Layer;
use tower_service::Service;

/// What the header says, among the extensions of a request and of its calls.
#[derive(Debug, Clone)]
pub(crate) enum HeaderKey {
    Read(IdempotencyKey),
    Refused(Invalid),
    /// A name that the syntax does not read.
    Unread,
}

impl HeaderKey {
    pub(crate) const NAME: &str = "Idempotency-Key";

    /// Returns the fault of a header that would be the key of several calls.
    pub(crate) fn of_many_calls() -> Invalid {
        Invalid::new(Field::Header(Self::NAME), Reason::ManyCalls)
    }

    /// Reads the headers of a request; `None` if there is no key.
    fn of(headers: &HeaderMap, syntax: Syntax) -> Option<Self> {
        let lines = |name| headers.get_all(name).into_iter().map(HeaderValue::as_bytes);
        match rules::key(lines, syntax) {
            // A socket makes many calls. Other protocols are only offered by an upgrade: h2c by curl, for example.
            Ok(Some(_)) | Err(_) if opens_socket(headers) => {
                Some(Self::Refused(Self::of_many_calls()))
            }
            Ok(Some(key)) => Some(Self::Read(key)),
            Err(invalid) => Some(Self::Refused(invalid)),
            Ok(None) if rules::has_unread(lines) => Some(Self::Unread),
            Ok(None) => None,
        }
    }
}

fn opens_socket(headers: &HeaderMap) -> bool {
    let asked = headers.get_all(UPGRADE).into_iter();
    asked
        .map(|value| value.as_bytes().to_ascii_lowercase())
        .any(|value| String::from_utf8_lossy(&value).contains("websocket"))
}

/// An HTTP middleware of the server that reads the header `Idempotency-Key` by
/// [the library's rules](idem_runtime::http::header), for clients that send one call in a request.
///
/// A key in `params._meta` needs it not. If both are there, they must be equal. A batch with the header is refused, and so
/// is every call through a socket that was opened with it, because they would share a key. It needs the
/// [`IdempotencyLayer`](crate::IdempotencyLayer) too, which knows the batches.
///
/// ```
/// use idem_jsonrpc::HeaderLayer;
/// use jsonrpsee::server::Server;
///
/// let http = tower::ServiceBuilder::new().layer(HeaderLayer::new());
/// let builder = Server::builder().set_http_middleware(http);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct HeaderLayer {
    syntax: Syntax,
}

impl HeaderLayer {
    /// Creates a layer that reads the header by [`Syntax::Lenient`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the header by this syntax.
    #[must_use]
    pub fn syntax(mut self, syntax: Syntax) -> Self {
        self.syntax = syntax;
        self
    }
}

impl<S> Layer<S> for HeaderLayer {
    type Service = HeaderService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        HeaderService {
            inner,
            syntax: self.syntax,
        }
    }
}

/// The service of a [`HeaderLayer`].
#[derive(Debug, Clone)]
pub struct HeaderService<S> {
    inner: S,
    syntax: Syntax,
}

impl<S: Service<Request<B>>, B> Service<Request<B>> for HeaderService<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        if let Some(key) = HeaderKey::of(request.headers(), self.syntax) {
            request.extensions_mut().insert(key);
        }
        self.inner.call(request)
    }
}
