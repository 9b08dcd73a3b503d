//! The crates `http` and `tower` alone, as under hyper: a `service_fn` with a policy.

use std::convert::Infallible;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use idem_runtime::{Error, Replayable};
use idem_tests_counting::Ledger;
use idem_tower::{Buffered, HttpPolicy, ToResponse as _, header, replayable};
use tower::{Layer as _, Service, ServiceExt as _, service_fn};

use crate::Outcome;
use crate::at_once;
use crate::on_axum::{kind_of, request};
use crate::shop::{self, Order, Outcomes, Placed};
use crate::stretch::TOWER;

type Body = Full<Bytes>;

async fn order(body: Body) -> Order {
    let Ok(body) = body.collect().await;
    serde_json::from_slice(&body.to_bytes()).expect("an order")
}

fn created(placed: &Placed) -> Response<Buffered> {
    let body = serde_json::to_vec(placed).expect("JSON");
    let mut response = Response::new(Buffered::from(body));
    *response.status_mut() = StatusCode::CREATED;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

async fn post_order_bare(request: Request<Body>) -> Result<Response<Buffered>, Infallible> {
    Ok(created(&shop::placed(order(request.into_body()).await)))
}

async fn post_order(request: Request<Body>) -> Result<Response<Buffered>, Infallible> {
    Ok(match placed(request).await {
        Ok(placed) => replayable(placed.map(|placed| created(&placed))),
        Err(refusal) => refusal.to_response(),
    })
}

async fn placed(request: Request<Body>) -> Result<Replayable<Placed>, Error> {
    let (parts, body) = request.into_parts();
    let key = header::required(&parts)?;
    shop::outcome_of(&key, order(body).await)
}

pub(crate) fn measure(ledger: &mut Ledger, outcomes: &Outcomes) -> Outcome {
    let bare = service_fn(post_order_bare);
    let edge = HttpPolicy::new().layer(service_fn(post_order));
    at_once::measure(
        ledger,
        outcomes,
        &TOWER,
        || call(bare, request(false)),
        || call(edge.clone(), request(true)),
        |answer| kind_of(&answer),
    )
}

fn call<S, B>(service: S, request: Request<Body>) -> impl Future<Output = Response<Bytes>>
where
    S: Service<Request<Body>, Response = Response<B>, Error = Infallible>,
    B: http_body::Body<Data = Bytes>,
{
    let call = service.oneshot(request);
    async move {
        let Ok(response) = call.await;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.ok().expect("a whole body");
        Response::from_parts(parts, body.to_bytes())
    }
}
