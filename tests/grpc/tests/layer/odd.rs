//! A service whose answers tonic's server would not give: it writes them as HTTP.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use http::header::HeaderMap;
use http::response::Builder;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::server::NamedService;

/// Answers by the name of the method, and counts how often it ran.
#[derive(Debug, Clone)]
pub(crate) struct Odd(pub(crate) Arc<AtomicU32>);

impl NamedService for Odd {
    const NAME: &'static str = "shop.v1.Odd";
}

/// One message, with its prefix.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).expect("short");
    [&[0], &length.to_be_bytes()[..], message].concat()
}

fn data(message: &[u8]) -> Frame<Bytes> {
    Frame::data(framed(message).into())
}

fn trailers(code: &'static str) -> Frame<Bytes> {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", code.parse().expect("a value"));
    let custom = "of the trailers".parse().expect("a value");
    trailers.insert("x-trailer", custom);
    Frame::trailers(trailers)
}

fn body<const N: usize>(frames: [Frame<Bytes>; N]) -> Body {
    let frames = frames.map(Ok::<_, Infallible>);
    Body::new(StreamBody::new(stream::iter(frames)))
}

fn answer(how: &str, run: u8, asked_to_compress: bool) -> Response<Body> {
    let grpc = || Response::builder().header("content-type", "application/grpc");
    let (head, body): (Builder, _) = match how {
        "whole" => (
            grpc()
                .header("x-head", "of the head")
                .header("x-auth-token", "secret")
                .header("x-session", "kept"),
            // No text.
            body([data(&[255, run]), trailers("0")]),
        ),
        "empty" => (
            grpc().header("x-head", "of the head"),
            body([data(b""), trailers("0")]),
        ),
        "asked" => (
            grpc().header("x-asked-to-compress", asked_to_compress.to_string()),
            body([data(b"done"), trailers("0")]),
        ),
        "faulty-but-ok" => (grpc().status(500), body([data(b"done"), trailers("0")])),
        "refuses-at-its-end" => (grpc(), body([data(&[255, run]), trailers("5")])),
        "silent" => (grpc(), body([data(b"done")])),
        "gateway" => (Response::builder().status(502), body([])),
        "large" => (grpc(), body([data(&[0; 2000]), trailers("0")])),
        "breaks" => {
            let pieces = [Ok(data(b"done")), Err("broken off")];
            (grpc(), Body::new(StreamBody::new(stream::iter(pieces))))
        }
        "compressed" => (
            grpc().header("grpc-encoding", "gzip"),
            body([data(b"done"), trailers("0")]),
        ),
        "endless" => {
            let one = stream::iter([Ok::<_, Infallible>(data(b"done"))]);
            (
                grpc(),
                Body::new(StreamBody::new(one.chain(stream::pending()))),
            )
        }
        other => panic!("no such method: {other}"),
    };
    head.body(body).expect("a response")
}

impl Service<Request<Body>> for Odd {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let runs = Arc::clone(&self.0);
        Box::pin(async move {
            let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
            let (parts, body) = request.into_parts();
            // The request is in memory, whatever becomes of its client.
            body.collect().await.expect("a whole request");
            let how = parts.uri.path().rsplit('/').next().unwrap_or_default();
            let asked_to_compress = parts.headers.contains_key("grpc-accept-encoding");
            let run = u8::try_from(run).expect("a few runs");
            Ok(answer(how, run, asked_to_compress))
        })
    }
}
