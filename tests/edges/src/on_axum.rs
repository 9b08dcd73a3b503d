//! axum: a router with a policy, called by tower's `oneshot`.

use axum::body::Body;
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use idem_axum::HttpPolicy;
use idem_axum::header::IDEMPOTENT_REPLAYED;
use idem_runtime::{Error, IdempotencyKey};
use idem_tests_counting::Ledger;
use tower::ServiceExt as _;

use crate::Outcome;
use crate::at_once::{self, AnswerKind};
use crate::shop::{self, KEY, ORDER, Order, Outcomes};
use crate::stretch::AXUM;

async fn post_order_bare(Json(order): Json<Order>) -> impl IntoResponse {
    (StatusCode::CREATED, Json(shop::placed(order)))
}

async fn post_order(
    key: IdempotencyKey,
    Json(order): Json<Order>,
) -> Result<impl IntoResponse, Error> {
    Ok((
        StatusCode::CREATED,
        shop::outcome_of(&key, order)?.map(Json),
    ))
}

pub(crate) fn measure(ledger: &mut Ledger, outcomes: &Outcomes) -> Outcome {
    let bare = Router::new().route("/orders", post(post_order_bare));
    let edge = Router::new()
        .route("/orders", post(post_order))
        .layer(HttpPolicy::new());
    let call = |app: &Router, request: Request<Body>| {
        let call = app.clone().oneshot(request);
        async move { whole(call.await.unwrap_or_else(|never| match never {})).await }
    };
    at_once::measure(
        ledger,
        outcomes,
        &AXUM,
        || call(&bare, request(false)),
        || call(&edge, request(true)),
        |answer| kind_of(&answer),
    )
}

/// A request as a server hands it over; with a key it has passed an authentication.
pub(crate) fn request<B: From<&'static str>>(has_key: bool) -> Request<B> {
    let mut request = Request::post("/orders").header("content-type", "application/json");
    if has_key {
        request = request
            .header("idempotency-key", format!("\"{KEY}\""))
            .extension(shop::scope());
    }
    request.body(B::from(ORDER)).expect("a request")
}

async fn whole(response: Response<Body>) -> Response<Bytes> {
    let (parts, body) = response.into_parts();
    let body = body.collect().await.expect("a whole body");
    Response::from_parts(parts, body.to_bytes())
}

pub(crate) fn kind_of(answer: &Response<Bytes>) -> AnswerKind {
    match answer.status().as_u16() {
        201 if answer.headers().contains_key(IDEMPOTENT_REPLAYED) => AnswerKind::Replay,
        201 => AnswerKind::Result,
        422 => AnswerKind::Refusal,
        other => panic!("status {other}: {:?}", answer.body()),
    }
}
