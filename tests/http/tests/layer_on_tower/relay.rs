//! A service without a transaction, behind the layer, on hyper.

use std::convert::Infallible;
use std::ops::Deref;
use std::sync::Arc;

use http::Request;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use idem_runtime::LeasedOperation;
use idem_tests_http::on_tower;
use idem_tests_http::relay::serve;
pub(crate) use idem_tests_http::relay::{OPERATION, REPEATABLE, refusal, scoped, send};
use idem_tower::layer::AsReceived;
use idem_tower::{IdempotencyLayer, MaybeBuffered};
use sqlx::Sqlite as Db;
use tower::{Layer as _, service_fn};

type Unscoped = idem_tower::layer::Unscoped<Db, AsReceived>;

/// A relay on a port and a database of its own.
pub(crate) struct Relay(idem_tests_http::relay::Relay);

impl Relay {
    pub(crate) async fn open() -> Self {
        Self::open_with(scoped).await
    }

    pub(crate) async fn open_with(layer: impl FnOnce(Unscoped) -> IdempotencyLayer<Db>) -> Self {
        Self::open_for(OPERATION, layer).await
    }

    pub(crate) async fn open_for(
        operation: LeasedOperation,
        layer: impl FnOnce(Unscoped) -> IdempotencyLayer<Db>,
    ) -> Self {
        let relay = idem_tests_http::relay::Relay::open_by(|listener, pool, runs| {
            let layer = layer(IdempotencyLayer::new(pool, operation));
            let service = service_fn(move |request: Request<MaybeBuffered<Incoming>>| {
                let runs = Arc::clone(&runs);
                async move {
                    let (parts, body) = request.into_parts();
                    let how = parts.uri.path().rsplit('/').next().unwrap_or_default();
                    let body = body.collect().await.expect("a body").to_bytes();
                    Ok::<_, Infallible>(serve(runs, how.to_owned(), parts.headers, body).await)
                }
            });
            on_tower::serve(listener, layer.layer(service))
        });
        Self(relay.await)
    }
}

impl Deref for Relay {
    type Target = idem_tests_http::relay::Relay;

    fn deref(&self) -> &idem_tests_http::relay::Relay {
        &self.0
    }
}
