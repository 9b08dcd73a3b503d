//! actix-web: an application with a policy, called as its tests call one.

use actix_web::body::{self, MessageBody};
use actix_web::dev::{Service as _, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::test::{TestRequest, init_service};
use actix_web::{App, HttpMessage as _, HttpResponse, web};
use bytes::Bytes;
use idem_actix::{HttpPolicy, Key, Policy, Refusal, Replay};
use idem_runtime::http::header::{IDEMPOTENCY_KEY, IDEMPOTENT_REPLAYED};
use idem_tests_counting::Ledger;

use crate::Outcome;
use crate::at_once::{self, AnswerKind};
use crate::shop::{self, KEY, ORDER, Order, Outcomes};
use crate::stretch::ACTIX;

async fn post_order_bare(order: web::Json<Order>) -> HttpResponse {
    HttpResponse::Created().json(shop::placed(order.into_inner()))
}

async fn post_order(
    Key(key): Key,
    order: web::Json<Order>,
) -> Result<Replay<HttpResponse>, Refusal> {
    let placed = shop::outcome_of(&key, order.into_inner())?;
    Ok(Replay(
        placed.map(|placed| HttpResponse::Created().json(placed)),
    ))
}

pub(crate) async fn measure(ledger: &mut Ledger, outcomes: &Outcomes) -> Outcome {
    let bare = App::new().service(web::resource("/orders").route(web::post().to(post_order_bare)));
    let bare = init_service(bare).await;
    let edge = App::new()
        .service(web::resource("/orders").route(web::post().to(post_order)))
        .wrap(Policy::new(HttpPolicy::new()));
    let edge = init_service(edge).await;
    at_once::measure(
        ledger,
        outcomes,
        &ACTIX,
        || {
            let request = request(false).to_request();
            async { answer(bare.call(request).await.expect("an answer")).await }
        },
        || {
            let request = request(true).to_request();
            request.extensions_mut().insert(shop::scope());
            async { answer(edge.call(request).await.expect("an answer")).await }
        },
        |answer| kind_of(&answer),
    )
}

/// A request as a server hands it over.
fn request(has_key: bool) -> TestRequest {
    let request = TestRequest::post()
        .uri("/orders")
        .insert_header(("content-type", "application/json"))
        .set_payload(ORDER);
    if has_key {
        request.insert_header((IDEMPOTENCY_KEY, format!("\"{KEY}\"")))
    } else {
        request
    }
}

/// The head of an answer, and its body.
type Answer = (StatusCode, bool, Bytes);

async fn answer<B: MessageBody>(response: ServiceResponse<B>) -> Answer {
    let status = response.status();
    let replayed = response.headers().contains_key(IDEMPOTENT_REPLAYED);
    let body = body::to_bytes(response.into_body()).await;
    (status, replayed, body.ok().expect("a whole body"))
}

fn kind_of((status, replayed, body): &Answer) -> AnswerKind {
    match status.as_u16() {
        201 if *replayed => AnswerKind::Replay,
        201 => AnswerKind::Result,
        422 => AnswerKind::Refusal,
        other => panic!("status {other}: {body:?}"),
    }
}
