//! A service without a transaction, behind the layer, in routes of axum.

use std::ops::Deref;

use axum::Router;
use axum::body::Bytes;
use axum::extract::Path;
use axum::http::HeaderMap;
use axum::routing::{MethodRouter, any};
use idem_axum::layer::{IdempotencyLayer, Unscoped};
use idem_runtime::LeasedOperation;
use idem_tests_http::on_axum;
use idem_tests_http::relay::serve;
pub(crate) use idem_tests_http::relay::{OPERATION, REPEATABLE, refusal, scoped, send};
use sqlx::Sqlite as Db;

/// A relay on a port and a database of its own.
pub(crate) struct Relay(idem_tests_http::relay::Relay);

impl Relay {
    pub(crate) async fn open() -> Self {
        Self::open_with(scoped).await
    }

    pub(crate) async fn open_with(
        layer: impl FnOnce(Unscoped<Db>) -> IdempotencyLayer<Db>,
    ) -> Self {
        Self::open_for(OPERATION, layer).await
    }

    pub(crate) async fn open_for(
        operation: LeasedOperation,
        layer: impl FnOnce(Unscoped<Db>) -> IdempotencyLayer<Db>,
    ) -> Self {
        Self::open_routes(operation, |unscoped, route| {
            let app = Router::new().route("/{how}", route).layer(layer(unscoped));
            Router::new()
                .nest("/accounts/{account}", app.clone())
                .merge(app)
        })
        .await
    }

    /// With routes of the caller's, inside the authentication.
    pub(crate) async fn open_routes(
        operation: LeasedOperation,
        routes: impl FnOnce(Unscoped<Db>, MethodRouter) -> Router,
    ) -> Self {
        let relay = idem_tests_http::relay::Relay::open_by(|listener, pool, runs| {
            let route = any(
                |Path(parts): Path<Vec<(String, String)>>, headers: HeaderMap, body: Bytes| {
                    let how = parts.into_iter().find(|(name, _)| name == "how");
                    serve(runs, how.expect("a part").1, headers, body)
                },
            );
            on_axum::serve(
                listener,
                routes(IdempotencyLayer::new(pool, operation), route),
            )
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
