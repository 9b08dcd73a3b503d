//! The middleware of reqwest.

mod attempt;
mod redirect;

use http::Extensions;
use reqwest::{ClientBuilder, Request, Response};
use reqwest_middleware::{ClientWithMiddleware, Error, Middleware, Next as Below, Result};

pub use self::redirect::redirect_policy;

use self::attempt::attempt;
use self::redirect::without_key;
use crate::attempts::{Attempts, Next};
use crate::error::ClientError;
use crate::key::IDEMPOTENCY_KEY;
use crate::policy::RetryPolicy;
use crate::selection::{KeyChoice, LogicalKey, select};

/// Gives each logical request one key, and sends it again with that key until it is answered or the budget is used up.
///
/// A [`KeyChoice`] among the request's extensions names the key or leaves it out. Requests without a key, and safe methods,
/// are sent once, as they are. The response to a request with a key has been read to its end.
///
/// Build the client by [`client`], or give it [`redirect_policy`]: reqwest would send the key to wherever a redirect leads.
///
/// A retrying middleware such as reqwest-retry may stand below or above it. Below, its attempts carry the key. Above, the key
/// of the logical request stays in the extensions, which that middleware passes again with each attempt: so do not pass one
/// `Extensions` to two requests that mean two effects.
#[derive(Clone, Debug, Default)]
pub struct KeyMiddleware {
    policy: RetryPolicy,
}

impl KeyMiddleware {
    /// Creates a middleware of this policy.
    pub fn new(policy: RetryPolicy) -> Self {
        Self { policy }
    }
}

/// Builds a client that keeps the key: with [`KeyMiddleware`] and [`redirect_policy`].
///
/// Add middlewares of your own by [`reqwest_middleware::ClientBuilder::from_client`]: they stand below, and run for each
/// attempt.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use idem_client::{Key, KeyChoice, RetryPolicy};
///
/// let client = idem_client::client(reqwest::Client::builder(), RetryPolicy::new())?;
/// // A new intent: the client makes the key.
/// client.post("https://api.example.com/orders").body("tea").send().await?;
/// // An intent that began earlier, whose key was kept.
/// let key: Key = "cart-17".parse()?;
/// let again = client.post("https://api.example.com/orders").with_extension(KeyChoice::Use(key));
/// again.body("tea").send().await?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// Those of [`ClientBuilder::build`].
pub fn client(
    builder: ClientBuilder,
    policy: RetryPolicy,
) -> reqwest::Result<ClientWithMiddleware> {
    let client = builder.redirect(redirect_policy()).build()?;
    let middleware = KeyMiddleware::new(policy);
    Ok(reqwest_middleware::ClientBuilder::new(client)
        .with(middleware)
        .build())
}

#[async_trait::async_trait]
impl Middleware for KeyMiddleware {
    async fn handle(
        &self,
        mut request: Request,
        extensions: &mut Extensions,
        below: Below<'_>,
    ) -> Result<Response> {
        let selected = select(
            &self.policy,
            request.method(),
            request.headers(),
            extensions.get::<KeyChoice>(),
            extensions.get::<LogicalKey>(),
        );
        let Some(selected) = selected.map_err(refusal)? else {
            let has_key = request.headers().contains_key(IDEMPOTENCY_KEY);
            let sent = below.run(request, extensions);
            // A header that came with a safe method must not leave the origin either.
            return if has_key {
                sent.await
            } else {
                without_key(sent).await
            };
        };
        extensions.insert(LogicalKey(selected.key.clone()));
        let headers = request.headers_mut();
        headers.insert(IDEMPOTENCY_KEY, selected.value.clone());
        let mut attempts = Attempts::new(&self.policy, selected.key.clone());
        loop {
            let copy = request.try_clone();
            let copy = copy.ok_or_else(|| refusal(ClientError::StreamingBody))?;
            let sent = attempt(&self.policy, &selected.key, copy, extensions, &below);
            let outcome = attempts.make(sent).await;
            match attempts.after(outcome) {
                Next::After(pause) => attempts.wait(pause).await,
                Next::Done(end) => return end.map(Response::from).map_err(refusal),
            }
        }
    }
}

fn refusal(error: impl Into<ClientError>) -> Error {
    Error::middleware(error.into())
}
