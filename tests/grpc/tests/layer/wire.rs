//! A client that sends bytes and reads head, bytes and trailers, which tonic's own puts together.

use bytes::Bytes;
use http::header::HeaderMap;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use tonic::body::Body;
use tonic::{Status, transport::Channel};
use tower::ServiceExt as _;

use crate::odd::framed;
use crate::relay::{Relay, Store};

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) status: u16,
    pub(crate) head: HeaderMap,
    pub(crate) data: Bytes,
    pub(crate) trailers: HeaderMap,
}

impl Whole {
    /// Its status, which is in the trailers or, without them, in the head.
    pub(crate) fn status(&self) -> Status {
        let trailers = Status::from_header_map(&self.trailers);
        let status = trailers.or_else(|| Status::from_header_map(&self.head));
        status.expect("a code")
    }

    /// Everything except what is of the moment, or a secret.
    pub(crate) fn of_the_result(&self) -> (u16, HeaderMap, Bytes, HeaderMap) {
        let mut head = self.head.clone();
        for name in ["date", "x-auth-token", "x-session"] {
            head.remove(name);
        }
        (self.status, head, self.data.clone(), self.trailers.clone())
    }
}

/// A call of the odd service by the tenant `acme`, with one message.
pub(crate) fn call(how: &str, key: &str, message: &[u8]) -> Request<Body> {
    call_of(how, key, &[message])
}

fn call_of(how: &str, key: &str, messages: &[&[u8]]) -> Request<Body> {
    let framed: Vec<u8> = messages
        .iter()
        .flat_map(|message| framed(message))
        .collect();
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("/shop.v1.Odd/{how}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("x-tenant", "acme")
        .header("idempotency-key", key);
    let body = Body::new(Full::new(Bytes::from(framed)));
    request.body(body).expect("a request")
}

impl<D: Store> Relay<D> {
    /// Sends it, and reads the answer to its end.
    pub(crate) async fn send(&self, call: Request<Body>) -> Whole {
        let channel: Channel = self.channel.clone();
        let answer = channel.oneshot(call).await.expect("an answer");
        let (head, body) = answer.into_parts();
        let body = body.collect().await.expect("a whole body");
        Whole {
            status: head.status.as_u16(),
            head: head.headers,
            trailers: body.trailers().cloned().unwrap_or_default(),
            data: body.to_bytes(),
        }
    }

    pub(crate) async fn odd(&self, how: &str, key: &str, message: &[u8]) -> Whole {
        self.send(call(how, key, message)).await
    }

    pub(crate) async fn odd_of(&self, how: &str, key: &str, messages: &[&[u8]]) -> Whole {
        self.send(call_of(how, key, messages)).await
    }
}
