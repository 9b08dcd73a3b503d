//! A service without a transaction, behind the layer, in an application of actix-web.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use actix_web::body::{BodyStream, BoxBody};
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::from_fn;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use http::HeaderMap;
use http_body::Body as _;
use http_body_util::BodyExt as _;
use idem_actix::{Idempotency, IdempotencyLayer};
use idem_runtime::LeasedOperation;
use idem_tests_http::on_actix::{self, authenticate};
pub(crate) use idem_tests_http::relay::{OPERATION, REPEATABLE, refusal, scoped, send};
use idem_tower::layer::AsReceived;
use sqlx::Sqlite as Db;

pub(crate) type Unscoped = idem_tower::layer::Unscoped<Db, AsReceived>;

/// A relay on a port and a database of its own.
pub(crate) struct Relay(idem_tests_http::relay::Relay);

impl Relay {
    pub(crate) async fn open() -> Self {
        Self::open_with(scoped).await
    }

    pub(crate) async fn open_with(layer: impl FnOnce(Unscoped) -> IdempotencyLayer<Db>) -> Self {
        Self::open_for(OPERATION, layer).await
    }

    /// The layer is around the application, so that its routes are found inside.
    pub(crate) async fn open_for(
        operation: LeasedOperation,
        layer: impl FnOnce(Unscoped) -> IdempotencyLayer<Db>,
    ) -> Self {
        Self::open_routes(operation, |unscoped, runs| {
            let layer = Idempotency::new(layer(unscoped));
            move |config: &mut web::ServiceConfig| {
                let route = || web::resource("/{how}").to(handle);
                config
                    .app_data(web::Data::from(Arc::clone(&runs)))
                    .app_data(web::PayloadConfig::new(4 * 1024 * 1024))
                    .service(
                        web::scope("")
                            .service(web::scope("/accounts/{account}").service(route()))
                            .service(route())
                            .wrap(layer.clone()),
                    );
            }
        })
        .await
    }

    /// With routes of the caller's, inside the authentication; they have the counter of the runs.
    pub(crate) async fn open_routes<F>(
        operation: LeasedOperation,
        routes: impl FnOnce(Unscoped, Arc<AtomicU32>) -> F,
    ) -> Self
    where
        F: Fn(&mut web::ServiceConfig) + Clone + Send + 'static,
    {
        let relay = idem_tests_http::relay::Relay::open_by(|listener, pool, runs| {
            let routes = routes(IdempotencyLayer::new(pool, operation), runs);
            on_actix::serve(move || {
                let app = move || {
                    App::new()
                        .configure(routes.clone())
                        .wrap(from_fn(authenticate))
                };
                let server = HttpServer::new(app).workers(1).disable_signals();
                server.listen_auto_h2c(listener).expect("a socket").run()
            })
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

async fn handle(
    runs: web::Data<AtomicU32>,
    request: HttpRequest,
    body: web::Bytes,
) -> HttpResponse {
    let how = request.match_info().get("how").expect("a part").to_owned();
    let mut headers = HeaderMap::new();
    for (name, value) in request.headers() {
        let name = http::HeaderName::from_bytes(name.as_str().as_bytes());
        let value = http::HeaderValue::from_bytes(value.as_bytes());
        headers.append(name.expect("a name"), value.expect("a value"));
    }
    let served = idem_tests_http::relay::serve(runs.into_inner(), how, headers, body).await;
    let (parts, body) = served.into_parts();
    let status = StatusCode::from_u16(parts.status.as_u16()).expect("a status");
    let body = if body.size_hint().exact().is_some() {
        let body = body.collect().await.expect("a body in memory");
        BoxBody::new(body.to_bytes())
    } else {
        BoxBody::new(BodyStream::new(body.into_data_stream()))
    };
    let mut response = HttpResponse::with_body(status, body);
    for (name, value) in &parts.headers {
        let name = HeaderName::from_bytes(name.as_str().as_bytes()).expect("a name");
        let value = HeaderValue::from_bytes(value.as_bytes()).expect("a value");
        response.headers_mut().append(name, value);
    }
    response
}
