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
/// of the logical request stays in the extensions, which that middleware passes again with each attempt; a request with another
/// method or URL gets a key of its own. So do not pass one `Extensions` to two requests that mean two effects at one URL, nor
/// a [`KeyChoice`] to a request that it was not made for.
#[derive(Clone, Debug, Default)]
pub struct KeyMiddleware {
    policy: RetryPolicy,
    /// Whether it is the only one that acts on a request of a ledger.
    is_ledgers: bool,
}

/// An extension of a request whose attempts a ledger makes: other middlewares pass it through, and the answer may be as
/// long as the longest of them allows.
#[derive(Clone, Debug, Default)]
#[cfg_attr(
    not(any(feature = "mysql", feature = "postgres", feature = "sqlite")),
    allow(dead_code, reason = "only a ledger sends it")
)]
pub(crate) struct OfLedger {
    answer_limit: Option<usize>,
}

impl KeyMiddleware {
    /// Creates a middleware of this policy.
    pub fn new(policy: RetryPolicy) -> Self {
        Self {
            policy,
            is_ledgers: false,
        }
    }

    /// Creates the middleware of a ledger, which makes one attempt.
    #[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
    pub(crate) fn of_ledger() -> Self {
        Self {
            policy: RetryPolicy::new().attempts(1),
            is_ledgers: true,
        }
    }

    /// Returns the policy for a request of a ledger: with the longest answer that a middleware above allows.
    fn of_request(&self, extensions: &Extensions) -> RetryPolicy {
        let limit = extensions.get::<OfLedger>().and_then(|of| of.answer_limit);
        match limit.filter(|_| self.is_ledgers) {
            Some(limit) => self.policy.clone().answer_limit(limit),
            None => self.policy.clone(),
        }
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
        if let Some(of_ledger) = extensions.get_mut::<OfLedger>()
            && !self.is_ledgers
        {
            let longest = of_ledger.answer_limit.max(Some(self.policy.answer_limit));
            of_ledger.answer_limit = longest;
            return below.run(request, extensions).await;
        }
        let before = extensions.get::<LogicalKey>();
        let selected = select(
            &self.policy,
            request.method(),
            request.headers(),
            extensions.get::<KeyChoice>(),
            before.and_then(|before| before.of_again(&request)),
        );
        let Some(selected) = selected.map_err(refusal)? else {
            if let Some(KeyChoice::Omit) = extensions.get::<KeyChoice>() {
                request.headers_mut().remove(IDEMPOTENCY_KEY);
            }
            let has_key = request.headers().contains_key(IDEMPOTENCY_KEY);
            let sent = below.run(request, extensions);
            // A header that came with a safe method must not leave the origin either.
            return if has_key {
                sent.await
            } else {
                without_key(sent).await
            };
        };
        extensions.insert(LogicalKey::of(&selected.key, &request));
        let headers = request.headers_mut();
        headers.insert(IDEMPOTENCY_KEY, selected.value.clone());
        let policy = self.of_request(extensions);
        let mut attempts = Attempts::new(&policy, selected.key.clone());
        loop {
            let copy = request.try_clone();
            let copy = copy.ok_or_else(|| refusal(ClientError::StreamingBody))?;
            let sent = attempt(&policy, &selected.key, copy, extensions, &below);
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
