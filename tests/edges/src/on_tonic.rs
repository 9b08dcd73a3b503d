//! gRPC: tonic's `Grpc::unary` with the codec of prost, which is what a generated server calls for each method.

use std::future::{Ready, ready};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use idem_tests_counting::Ledger;
use idem_tonic::metadata::{IDEMPOTENCY_KEY, IDEMPOTENT_REPLAYED};
use idem_tonic::{ErrorExt as _, ReplayableExt as _, RequestExt as _};
use prost::Message as _;
use tonic::Status;
use tonic::body::Body;
use tonic::server::{Grpc, UnaryService};
use tonic_prost::ProstCodec;

use crate::Outcome;
use crate::at_once::{self, AnswerKind};
use crate::shop::{self, KEY, Order, Outcomes};
use crate::stretch::GRPC;

#[derive(Clone, PartialEq, prost::Message)]
struct OrderMessage {
    #[prost(string, tag = "1")]
    item: String,
    #[prost(uint32, tag = "2")]
    quantity: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct PlacedMessage {
    #[prost(int64, tag = "1")]
    number: i64,
    #[prost(string, tag = "2")]
    item: String,
}

impl From<OrderMessage> for Order {
    fn from(OrderMessage { item, quantity }: OrderMessage) -> Self {
        Self { item, quantity }
    }
}

impl From<shop::Placed> for PlacedMessage {
    fn from(shop::Placed { number, item }: shop::Placed) -> Self {
        Self { number, item }
    }
}

type Answered = Result<tonic::Response<PlacedMessage>, Status>;

struct Bare;

impl UnaryService<OrderMessage> for Bare {
    type Response = PlacedMessage;
    type Future = Ready<Answered>;

    fn call(&mut self, request: tonic::Request<OrderMessage>) -> Self::Future {
        let placed = shop::placed(request.into_inner().into());
        ready(Ok(tonic::Response::new(placed.into())))
    }
}

struct Edge;

impl UnaryService<OrderMessage> for Edge {
    type Response = PlacedMessage;
    type Future = Ready<Answered>;

    fn call(&mut self, request: tonic::Request<OrderMessage>) -> Self::Future {
        ready(place_order(request))
    }
}

fn place_order(request: tonic::Request<OrderMessage>) -> Answered {
    let key = request.idempotency_key()?;
    let placed =
        shop::outcome_of(&key, request.into_inner().into()).map_err(|error| error.to_status())?;
    Ok(placed.map(PlacedMessage::from).into_response())
}

pub(crate) fn measure(ledger: &mut Ledger, outcomes: &Outcomes) -> Outcome {
    at_once::measure(
        ledger,
        outcomes,
        &GRPC,
        || call(Bare, request(false)),
        || call(Edge, request(true)),
        |answer| kind_of(&answer),
    )
}

async fn call<S>(service: S, request: Request<Full<Bytes>>) -> Response<Bytes>
where
    S: UnaryService<OrderMessage, Response = PlacedMessage>,
{
    let mut grpc = Grpc::new(ProstCodec::<PlacedMessage, OrderMessage>::default());
    whole(grpc.unary(service, request).await).await
}

/// A request as a server hands it over; with a key it has passed an authentication.
fn request(has_key: bool) -> Request<Full<Bytes>> {
    let message = OrderMessage {
        item: "tea".to_owned(),
        quantity: 2,
    };
    let message = message.encode_to_vec();
    let length = u32::try_from(message.len()).expect("a short message");
    // One message, which is not compressed.
    let mut frame = vec![0];
    frame.extend(length.to_be_bytes());
    frame.extend(message);
    let mut request =
        Request::post("/shop.v1.Shop/Place").header("content-type", "application/grpc");
    if has_key {
        request = request
            .header(IDEMPOTENCY_KEY, KEY)
            .extension(shop::scope());
    }
    request.body(Full::from(frame)).expect("a request")
}

/// The body with its trailers, in which a status may be.
async fn whole(response: Response<Body>) -> Response<Bytes> {
    let (parts, body) = response.into_parts();
    let body = body.collect().await.expect("a whole body");
    Response::from_parts(parts, body.to_bytes())
}

fn kind_of(answer: &Response<Bytes>) -> AnswerKind {
    let headers = answer.headers();
    if headers.contains_key("grpc-status") {
        AnswerKind::Refusal
    } else if headers.contains_key(IDEMPOTENT_REPLAYED) {
        AnswerKind::Replay
    } else {
        AnswerKind::Result
    }
}
