//! Other middlewares below the middleware, and above it.

use std::time::Duration;

use http::Extensions;
use idem_client::KeyMiddleware;
use idem_tests_clients::Town;
use reqwest::{Request, Response, StatusCode};
use reqwest_middleware::{ClientBuilder, Middleware, Next};
use reqwest_retry::RetryTransientMiddleware;
use reqwest_retry::policies::ExponentialBackoff;

use crate::customer::{Hurried, keys, order, policy, trusting};

fn retrying() -> RetryTransientMiddleware<ExponentialBackoff> {
    let millisecond = Duration::from_millis(1);
    let policy = ExponentialBackoff::builder().retry_bounds(millisecond, millisecond);
    RetryTransientMiddleware::new_with_policy(policy.build_with_max_retries(3))
}

/// Asks for a token before each request, with the extensions of the request.
struct Token(String);

#[async_trait::async_trait]
impl Middleware for Token {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        below: Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        let url = self.0.parse().expect("a URL");
        let token = Request::new(request.method().clone(), url);
        below.clone().run(token, extensions).await?;
        below.run(request, extensions).await
    }
}

#[tokio::test]
async fn a_request_that_a_middleware_makes_has_not_the_key_of_its_callers() {
    let town = Town::open().await;
    let plain = trusting(&town).redirect(idem_client::redirect_policy());
    let client = ClientBuilder::new(plain.build().expect("a client"))
        .with(Token(format!("{}/f/token/pass/searches", town.url)))
        .with(KeyMiddleware::new(policy(&Hurried::default())))
        .build();
    let answer = order(&client, &town.url, "ordered", "lost").send().await;
    assert_eq!(answer.expect("an answer").status(), StatusCode::CREATED);
    let (token, ordered) = (keys(&town, "token"), keys(&town, "ordered"));
    assert_eq!((token.len(), ordered.len()), (1, 1));
    assert_ne!(token, ordered);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_retrying_middleware_changes_neither_the_key_nor_the_effects() {
    let town = Town::open().await;
    let plan = "lost,half,409,421,lost,503,503,lost";
    for is_below in [true, false] {
        let client = trusting(&town).redirect(idem_client::redirect_policy());
        let client = ClientBuilder::new(client.build().expect("a client"));
        let own = KeyMiddleware::new(policy(&Hurried::default()).attempts(6));
        let client = if is_below {
            client.with(own).with(retrying())
        } else {
            client.with(retrying()).with(own)
        };
        let client = client.build();
        let item = format!("neighbour-{is_below}");
        let answer = order(&client, &town.url, &item, plan).send().await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.status(), StatusCode::CREATED, "{item}");
        assert_eq!(keys(&town, &item).len(), 1, "{item}");
        assert_eq!(town.effects(&item).await, 1, "{item}");
    }
}
