//! The shop on hyper, of tower's services alone.

use std::convert::Infallible;
use std::net::TcpListener;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG, HeaderValue, LOCATION};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use idem_runtime::Replayable;
use idem_tower::{Buffered, ToResponse as _, header, replayable};
use serde::Serialize;
use tower::util::BoxCloneService;
use tower::{BoxError, Layer as _, Service, ServiceExt as _, service_fn};

use crate::desk::{DeclineError, Desk, Order, OrderError, Placed};
use crate::framework::{Framework, Rules, Server, tenant};
use crate::on_axum::status;

/// A service of tower on hyper.
#[derive(Debug)]
pub struct OnTower;

/// The longest body of a request.
const LIMIT: usize = 2 * 1024 * 1024;

type Body = UnsyncBoxBody<Bytes, Infallible>;

type Shop = BoxCloneService<Request<Incoming>, Response<Body>, Infallible>;

fn boxed(response: Response<Buffered>) -> Response<Body> {
    response.map(UnsyncBoxBody::new)
}

fn empty(status: StatusCode) -> Response<Buffered> {
    let mut response = Response::new(Buffered::default());
    *response.status_mut() = status;
    response
}

fn json(status: StatusCode, value: &impl Serialize) -> Response<Buffered> {
    let body = serde_json::to_vec(value).expect("JSON");
    let mut response = Response::new(Buffered::from(body));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

impl From<OrderError> for Response<Buffered> {
    fn from(error: OrderError) -> Self {
        match error {
            OrderError::Idempotency(error) => error.to_response(),
            OrderError::Database(_) => empty(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }
}

fn declined(error: Replayable<DeclineError>) -> Response<Buffered> {
    replayable(error.map(|error| match error {
        DeclineError::Idempotency(error) => error.to_response(),
        other => {
            let mut response = empty(StatusCode::GONE);
            *response.body_mut() = other.to_string().into();
            response
        }
    }))
}

/// Reads the order, after the key: a request without one is refused before its body is read.
async fn order(body: Incoming) -> Result<Order, Response<Buffered>> {
    let body = match Limited::new(body, LIMIT).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            return Err(empty(StatusCode::PAYLOAD_TOO_LARGE));
        }
        Err(_) => return Err(empty(StatusCode::BAD_REQUEST)),
    };
    serde_json::from_slice(&body).map_err(|_| empty(StatusCode::BAD_REQUEST))
}

async fn post(
    desk: &Desk,
    parts: &Parts,
    body: Incoming,
) -> Result<Response<Buffered>, Response<Buffered>> {
    let refused = |error: idem_runtime::Error| error.to_response();
    let ok = |placed: Placed| json(StatusCode::OK, &placed);
    Ok(match parts.uri.path() {
        "/orders" => {
            let key = header::required(parts).map_err(refused)?;
            let placed = desk
                .order(key, order(body).await?)
                .await
                .map_err(Response::from)?;
            replayable(placed.map(|placed| {
                let mut response = json(StatusCode::CREATED, &placed);
                let number = placed.number;
                for (name, value) in [
                    (LOCATION, format!("/orders/{number}")),
                    (ETAG, format!("\"{number}\"")),
                ] {
                    let value = HeaderValue::try_from(value).expect("a value");
                    response.headers_mut().insert(name, value);
                }
                response
            }))
        }
        "/items" => {
            let key = header::required(parts).map_err(refused)?;
            let placed = desk
                .item(&key, order(body).await?)
                .await
                .map_err(Response::from)?;
            replayable(placed.map(ok))
        }
        "/notes" => {
            let key = header::optional(parts).map_err(refused)?;
            let noted = desk
                .note(key, order(body).await?)
                .await
                .map_err(Response::from)?;
            replayable(noted.map(ok))
        }
        "/declined" => {
            let key = header::required(parts).map_err(refused)?;
            let placed = desk
                .decline(key, order(body).await?)
                .await
                .map_err(declined)?;
            replayable(placed.map(ok))
        }
        "/declined-no-longer" => {
            let key = header::required(parts).map_err(refused)?;
            let order = order(body).await?;
            let placed = desk
                .decline_no_longer(key, order)
                .await
                .map_err(Response::from)?;
            replayable(placed.map(ok))
        }
        _ => empty(StatusCode::NOT_FOUND),
    })
}

fn routes(desk: Desk) -> Shop {
    let (states, results) = (status(&desk.pool, false), status(&desk.pool, true));
    let shop = service_fn(move |request: Request<Incoming>| {
        let (desk, mut states, mut results) = (desk.clone(), states.clone(), results.clone());
        async move {
            let response = match request.uri().path() {
                "/operations" => states.call(request).await?,
                "/results" => results.call(request).await?,
                _ if request.method() == Method::POST => {
                    let (parts, body) = request.into_parts();
                    let answer = post(&desk, &parts, body).await;
                    answer.unwrap_or_else(|refusal| refusal)
                }
                _ => empty(StatusCode::METHOD_NOT_ALLOWED),
            };
            Ok::<_, Infallible>(boxed(response))
        }
    });
    BoxCloneService::new(shop)
}

/// Serves a service behind the authentication.
///
/// # Panics
/// Panics if the socket is unusable.
pub fn serve<S, B>(listener: TcpListener, service: S) -> Server
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    listener.set_nonblocking(true).expect("a socket");
    let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
    // Stands for authentication.
    let service = service.map_request(|mut request: Request<Incoming>| {
        let header = request.headers().get("x-tenant");
        if let Some(scope) = tenant(header.map(HeaderValue::as_bytes)) {
            request.extensions_mut().insert(scope);
        }
        request
    });
    let server = tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.expect("a connection");
            let service = TowerToHyperService::new(service.clone());
            tokio::spawn(async move {
                let server = Builder::new(TokioExecutor::new());
                // A client may leave at any time.
                let _ = server.serve_connection(TokioIo::new(socket), service).await;
            });
        }
    });
    Server::stopped_by(move || server.abort())
}

impl Framework for OnTower {
    fn serve(listener: TcpListener, desk: Desk, rules: Rules) -> Server {
        let policies = rules.policies.into_iter();
        let shop = policies.fold(routes(desk), |shop, policy| {
            let edited = policy.layer(shop);
            BoxCloneService::new(edited.map_response(|response| response.map(UnsyncBoxBody::new)))
        });
        serve(listener, shop)
    }
}
