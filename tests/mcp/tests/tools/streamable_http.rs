//! Over streamable HTTP: a server with several users, behind authentication that is a layer of axum.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use http::request::Parts;
use http::{HeaderName, HeaderValue, StatusCode};
use idem_mcp::Tools;
use idem_runtime::Scope;
use idem_tests::gate::{Gate, GatePoint};
use rmcp::service::{RequestContext, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{
    StreamableHttpClientTransport, StreamableHttpServerConfig, StreamableHttpService,
};
use rmcp::{RoleClient, RoleServer, ServiceExt as _};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use crate::cancelled::repeated;
use crate::client::{call, content, is_replay};
use crate::server::{Counter, Shop};

const USER: HeaderName = HeaderName::from_static("x-user");

/// Stands for authentication: whose request it is, in a header.
async fn authenticate(mut request: Request, next: Next) -> Result<Response, StatusCode> {
    let user = request.headers().get(USER);
    let user = user.and_then(|user| Scope::new(user.to_str().ok()?).ok());
    let user = user.ok_or(StatusCode::UNAUTHORIZED)?;
    request.extensions_mut().insert(user);
    Ok(next.run(request).await)
}

/// What authentication left in the request.
fn user(context: &RequestContext<RoleServer>) -> Option<Scope> {
    let request = context.extensions.get::<Parts>()?;
    request.extensions.get::<Scope>().cloned()
}

/// A server on a port of its own, on the database of a shop.
struct Site {
    url: String,
    server: AbortHandle,
}

impl Site {
    async fn open(shop: &Shop) -> Self {
        let pool = shop.pool.clone();
        let tools = Tools::scoped(user);
        let service = StreamableHttpService::new(
            move || Ok(Counter::with(pool.clone(), &tools)),
            Arc::new(LocalSessionManager::default()),
            StreamableHttpServerConfig::default(),
        );
        let routes = Router::new()
            .nest_service("/mcp", service)
            .layer(from_fn(authenticate));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = tokio::spawn(async move {
            axum::serve(listener, routes).await.expect("served");
        });
        Self {
            url: format!("http://{address}/mcp"),
            server: server.abort_handle(),
        }
    }

    /// A session of this user.
    async fn log_in(&self, user: &'static str) -> RunningService<RoleClient, ()> {
        let header = HashMap::from([(USER, HeaderValue::from_static(user))]);
        let config = StreamableHttpClientTransportConfig::with_uri(&*self.url);
        let transport = StreamableHttpClientTransport::from_config(config.custom_headers(header));
        ().serve(transport).await.expect("a session")
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.server.abort();
    }
}

#[tokio::test]
async fn over_http_each_key_has_one_effect_and_a_replay_is_marked() {
    let shop = Shop::open().await;
    let site = Site::open(&shop).await;
    for replayed in [false, true, true] {
        // A host that was started again has a session of its own.
        let session = site.log_in("ada").await;
        for (call, number) in [
            (call("place_by_host", "tea").hosted("a"), 1),
            (call("place_order", "tea").keyed("b"), 2),
            (call("ship", "tea"), 3),
        ] {
            let placed = call.send(&session).await.expect("placed");
            assert_eq!(content(&placed)["number"], number);
            assert_eq!(is_replay(&placed), replayed);
        }
    }
    assert_eq!(shop.count().await, (3, 3));
}

#[tokio::test]
async fn over_http_a_key_belongs_to_the_user_whom_authentication_found() {
    let shop = Shop::open().await;
    let site = Site::open(&shop).await;
    for replayed in [false, true] {
        for (user, number) in [("ada", 1), ("grace", 2)] {
            let session = site.log_in(user).await;
            let order = call("place_order", "tea").keyed("a").send(&session).await;
            let placed = order.expect("placed");
            assert_eq!(content(&placed)["number"], number);
            assert_eq!(is_replay(&placed), replayed, "{user}");
        }
    }
    assert_eq!(shop.count().await, (2, 2));
}

#[tokio::test]
async fn what_was_done_over_http_is_replayed_by_a_server_that_was_started_anew() {
    let shop = Shop::open().await;
    for replayed in [false, true] {
        let site = Site::open(&shop).await;
        let session = site.log_in("ada").await;
        let order = call("place_order", "tea").keyed("a").send(&session).await;
        assert_eq!(is_replay(&order.expect("placed")), replayed);
    }
    assert_eq!(shop.count().await, (1, 1));
}

/// Whether rmcp lets the call go on or drops it, a retry finds its whole effect or none.
#[tokio::test]
async fn over_http_a_client_that_goes_away_leaves_its_whole_effect_or_none() {
    let shop = Shop::open().await;
    let site = Site::open(&shop).await;
    for (point, orders) in [(GatePoint::BeforeWrite, 1), (GatePoint::AfterWrite, 2)] {
        let key = format!("mcp-http-{point:?}");
        let gate = Gate::at(&key, point);
        let session = site.log_in("ada").await;
        let (client, by) = (session.clone(), key.clone());
        let going =
            tokio::spawn(async move { call("place_order", "tea").keyed(&by).send(&client).await });
        gate.entered().await;
        going.abort();
        assert!(going.await.is_err_and(|gone| gone.is_cancelled()));
        session.cancel().await.expect("no panic");
        drop(gate);
        let again = site.log_in("ada").await;
        assert_eq!(repeated(&again, &key).await["number"], orders);
        assert_eq!(shop.count().await, (orders, orders), "{point:?}");
    }
}
