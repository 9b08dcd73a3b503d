//! The layer for clients that are tower services.

mod service;

pub use self::service::KeyService;

use std::sync::Arc;

use tower_layer::Layer;

use crate::policy::RetryPolicy;

/// Gives each logical request one key, and sends it again with that key until it is answered or the budget is used up.
///
/// It is for clients that are services of [`http::Request`], such as hyper-util's. A [`KeyChoice`](crate::KeyChoice) among
/// the request's extensions names the key or leaves it out. The body of a request can be cloned, so that a stream does not
/// compile: `http_body_util::Full` can. The body of an answer to a request with a key has been read to its end.
///
/// It follows no redirects: a 3xx is an answer. A layer below that follows them must take the header `idempotency-key` out
/// where a redirect leaves the origin or becomes a GET. A layer above that sends a request again gets a new key each time,
/// unless the request names its key: [`KeyChoice::Use`](crate::KeyChoice::Use).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), idem_client::BoxError> {
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use http_body_util::Full;
/// use idem_client::{KeyLayer, RetryPolicy};
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// let transport = service_fn(async |request: Request<Full<Bytes>>| {
///     assert!(request.headers().contains_key("idempotency-key"));
///     Ok::<_, std::io::Error>(Response::new(Full::new(Bytes::from("done"))))
/// });
/// let client = ServiceBuilder::new().layer(KeyLayer::new(RetryPolicy::new())).service(transport);
/// let order = Request::post("https://api.example.com/orders").body(Full::new(Bytes::from("tea")))?;
/// assert!(client.oneshot(order).await?.status().is_success());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct KeyLayer {
    policy: Arc<RetryPolicy>,
}

impl KeyLayer {
    /// Creates a layer of this policy.
    pub fn new(policy: RetryPolicy) -> Self {
        let policy = Arc::new(policy);
        Self { policy }
    }
}

impl<S> Layer<S> for KeyLayer {
    type Service = KeyService<S>;

    fn layer(&self, inner: S) -> KeyService<S> {
        KeyService::new(inner, self.policy.clone())
    }
}
