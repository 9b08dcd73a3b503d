//! The proxy. It keeps connections alive as any does, and writes down each request.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode, header};
use futures_util::{StreamExt as _, stream};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use reqwest::Client;
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;

use crate::fault::{Fault, RETRY_AFTER, in_flight};

/// A request, as the proxy has seen it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Received {
    /// The method.
    pub method: String,
    /// The header's value.
    pub key: Option<String>,
}

/// Everything that has come, by name.
pub type Log = HashMap<String, Vec<Received>>;

/// The end of a connection.
#[derive(Debug, thiserror::Error)]
#[error("the connection is cut")]
pub struct Cut;

type Body = UnsyncBoxBody<Bytes, Cut>;

/// What all connections share.
#[derive(Clone, Debug)]
pub struct Proxy {
    client: Client,
    service: String,
    log: Arc<Mutex<Log>>,
}

impl Proxy {
    /// Creates a proxy in front of the service at this URL.
    ///
    /// # Panics
    ///
    /// Panics if the HTTP client cannot be created.
    pub fn before(service: String) -> Self {
        let client = Client::builder().redirect(reqwest::redirect::Policy::none());
        Self {
            client: client.build().expect("a client"),
            service,
            log: Arc::default(),
        }
    }

    /// Returns the requests of this name, in their order.
    pub fn requests(&self, name: &str) -> Vec<Received> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.get(name).cloned().unwrap_or_default()
    }

    /// Serves connections for ever.
    pub async fn serve(self, listener: TcpListener) {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(self.clone().connection(stream));
        }
    }

    /// Serves one connection, over HTTP/2 if the client begins so. A cut ends it as it is: under TLS without a word of
    /// farewell. Over HTTP/2 a cut resets the request's stream.
    pub(crate) async fn connection(
        self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) {
        let answer = service_fn(move |request| {
            let proxy = self.clone();
            async move { proxy.answer(request).await }
        });
        let http = Builder::new(TokioExecutor::new());
        // An error is a cut, or a client that went away.
        let _ended = http.serve_connection(TokioIo::new(stream), answer).await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Body>, Cut> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let body = body.collect().await.map_err(|_| Cut)?.to_bytes();
        if let Some(name) = path.strip_prefix("/seen/") {
            let requests = serde_json::to_vec(&self.requests(name)).expect("JSON");
            return Ok(Response::new(all(requests.into())));
        }
        let mut words = path.strip_prefix("/f/").unwrap_or_default().splitn(3, '/');
        let (Some(name), Some(plan), Some(rest)) = (words.next(), words.next(), words.next())
        else {
            return Ok(self
                .forward(&parts.method, &parts.headers, path, body)
                .await
                .into_whole());
        };
        let plan = Fault::plan(plan).expect("a plan");
        let nth = self.note(name, &parts.method, &parts.headers);
        let fault = plan.get(nth).copied().unwrap_or(Fault::Pass);
        let rest = format!("/{rest}");
        if !fault.reaches_the_service() {
            return instead(fault, path);
        }
        let answer = self
            .forward(&parts.method, &parts.headers, &rest, body)
            .await;
        match fault {
            Fault::Lost => Err(Cut),
            Fault::Half => Ok(answer.into_half(true)),
            Fault::HalfChunked => Ok(answer.into_half(false)),
            Fault::After(status) => Ok(plain(status)),
            Fault::Moved(status) => {
                let item = answer.item();
                Ok(redirect(status, &format!("/effects/{item}")))
            }
            _ => Ok(answer.into_whole()),
        }
    }

    /// Returns how many requests of this name came before.
    fn note(&self, name: &str, method: &Method, headers: &HeaderMap) -> usize {
        let key = headers.get("idempotency-key");
        let key = key.map(|key| String::from_utf8_lossy(key.as_bytes()).into_owned());
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let requests = log.entry(name.to_owned()).or_default();
        requests.push(Received {
            method: method.to_string(),
            key,
        });
        requests.len() - 1
    }

    async fn forward(
        &self,
        method: &Method,
        headers: &HeaderMap,
        path: &str,
        body: Bytes,
    ) -> Answer {
        let mut headers = headers.clone();
        for name in [
            header::HOST,
            header::CONTENT_LENGTH,
            header::TRANSFER_ENCODING,
            header::CONNECTION,
        ] {
            headers.remove(name);
        }
        let request = self
            .client
            .request(method.clone(), format!("{}{path}", self.service))
            .headers(headers)
            .body(body);
        let response = request.send().await.expect("the service answers");
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.expect("a whole answer");
        Answer {
            status,
            headers,
            body,
        }
    }
}

/// The service's answer.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    fn with(&self, body: Body) -> Response<Body> {
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers.clone();
        response.headers_mut().remove(header::TRANSFER_ENCODING);
        response
    }

    fn into_whole(self) -> Response<Body> {
        self.with(all(self.body.clone()))
    }

    /// The header names the whole length, or the last chunk is missing: every client can see that this is not all.
    fn into_half(self, has_length: bool) -> Response<Body> {
        let half = self.body.slice(..self.body.len() / 2);
        let first = stream::once(async move { Ok(Frame::data(half)) });
        let cut = stream::once(async {
            // While it waits for the rest, the server sends what it has.
            for _ in 0..8 {
                tokio::task::yield_now().await;
            }
            Err(Cut)
        });
        let body = StreamBody::new(first.chain(cut));
        let mut response = self.with(BodyExt::boxed_unsync(body));
        let headers = response.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        if has_length {
            headers.insert(header::CONTENT_LENGTH, self.body.len().into());
        }
        response
    }

    fn item(&self) -> String {
        let placed: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_default();
        placed["item"].as_str().unwrap_or("none").to_owned()
    }
}

fn all(body: Bytes) -> Body {
    let body = Full::new(body).map_err(|never: Infallible| match never {});
    body.boxed_unsync()
}

fn plain(status: u16) -> Response<Body> {
    let mut response = Response::new(all(Bytes::new()));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    response
}

fn redirect(status: u16, to: &str) -> Response<Body> {
    let mut response = plain(status);
    let to = to.parse().expect("a header");
    response.headers_mut().insert(header::LOCATION, to);
    response
}

/// Answers a request that the service never sees.
fn instead(fault: Fault, path: &str) -> Result<Response<Body>, Cut> {
    let status = match fault {
        Fault::Instead(status) => status,
        Fault::Kept(status) => return Ok(redirect(status, path)),
        // Nobody is there: a client that follows it fails.
        Fault::Away(status) => return Ok(redirect(status, "http://127.0.0.1:1/orders")),
        _ => return Err(Cut),
    };
    let mut response = plain(status);
    if status == 409 {
        *response.body_mut() = all(in_flight().to_json().into());
        let kind = "application/problem+json".parse().expect("a header");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, RETRY_AFTER.into());
    Ok(response)
}
