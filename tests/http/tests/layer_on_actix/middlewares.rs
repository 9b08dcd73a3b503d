//! Middlewares of actix-web, inside and outside of the layer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::{Next, from_fn};
use actix_web::{Error, HttpMessage as _, HttpResponse, web};
use idem_actix::{HttpPolicy, Idempotency, Keep, Policy, ToHttpResponse as _};
use idem_runtime::{Attempt, LeasedOperation, Scope};
use reqwest::Method;

use crate::relay::{OPERATION, REPEATABLE, Relay, refusal, scoped, send};

/// Fails with the status of the path, and counts.
async fn fail(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let runs = request
        .app_data::<web::Data<AtomicU32>>()
        .expect("a counter");
    let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
    let status = request.match_info().get("status").expect("a part");
    let status: StatusCode = status.parse().expect("a status");
    if status.is_success() {
        return next.call(request).await;
    }
    Err(InternalError::new(format!("failure {run}"), status).into())
}

async fn open_failing(
    operation: LeasedOperation,
    keep: Option<fn(http::StatusCode) -> Keep>,
) -> Relay {
    Relay::open_routes(operation, |layer, runs| {
        let layer = match keep {
            Some(keep) => scoped(layer).keep(keep),
            None => scoped(layer),
        };
        let layer = Idempotency::new(layer);
        move |config: &mut web::ServiceConfig| {
            let route = web::resource("/{status}").to(HttpResponse::Ok);
            let runs = web::Data::from(Arc::clone(&runs));
            let route = route.wrap(from_fn(fail)).wrap(layer.clone());
            config.app_data(runs).service(route);
        }
    })
    .await
}

#[tokio::test]
async fn a_middleware_inside_that_fails_is_judged_by_the_status_of_its_error() {
    for (operation, path, again) in [
        (OPERATION, "503", "outcome-unknown"),
        (OPERATION, "403", "failure 2"),
        (REPEATABLE, "503", "failure 2"),
    ] {
        let relay = open_failing(operation, None).await;
        let first = send(relay.post(path, "a")).await;
        assert_eq!(first.0.to_string(), path);
        assert_eq!(first.2, "failure 1");
        let (_, code, body) = send(relay.post(path, "a")).await;
        let body = String::from_utf8_lossy(&body).into_owned();
        assert_eq!(code.unwrap_or(body), again, "{path}");
    }
}

#[tokio::test]
async fn a_failure_of_a_middleware_that_is_recorded_is_the_response_that_a_replay_gets() {
    let relay = open_failing(OPERATION, Some(|_| Keep::Record)).await;
    let first = send(relay.post("403", "a")).await;
    assert_eq!((first.0, &first.2[..]), (403, &b"failure 1"[..]));
    assert_eq!(send(relay.post("403", "a")).await, first);
    assert_eq!(relay.runs(), 1);
}

#[tokio::test]
async fn an_error_that_has_its_response_once_is_answered_with_it() {
    let relay = Relay::open_routes(OPERATION, |layer, _| {
        let layer = Idempotency::new(scoped(layer));
        move |config: &mut web::ServiceConfig| {
            let refuse = from_fn(async |_: ServiceRequest, _: Next<BoxBody>| {
                let response = HttpResponse::Unauthorized().body("sign in");
                let error = InternalError::from_response("nobody", response);
                Err::<ServiceResponse, _>(Error::from(error))
            });
            let route = web::resource("/inside").to(async || "served");
            config.service(route.wrap(refuse).wrap(layer.clone()));
        }
    })
    .await;
    for _ in 0..2 {
        let answer = send(relay.post("inside", "a")).await;
        assert_eq!((answer.0, &answer.2[..]), (401, &b"sign in"[..]));
    }
}

/// Whose request it is, by an authentication that has a type of its own.
#[derive(Clone)]
struct Account(Scope);

async fn sign_in(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    if let Some(account) = request.headers().get("x-account") {
        let account = Scope::new(account.to_str().expect("text")).expect("a scope");
        request.extensions_mut().insert(Account(account));
    }
    next.call(request).await
}

#[tokio::test]
async fn the_functions_of_the_layer_see_the_extensions_that_are_named() {
    let relay = Relay::open_routes(OPERATION, |layer, runs| {
        let layer = layer.scope(|request| Some(request.extensions.get::<Account>()?.0.clone()));
        let layer = Idempotency::new(layer).extension::<Account>();
        move |config: &mut web::ServiceConfig| {
            let count = async |runs: web::Data<AtomicU32>| {
                (runs.fetch_add(1, Ordering::SeqCst) + 1).to_string()
            };
            let runs = web::Data::from(Arc::clone(&runs));
            let route = web::resource("/again").to(count);
            let route = route.wrap(layer.clone()).wrap(from_fn(sign_in));
            config.app_data(runs).service(route);
        }
    })
    .await;
    for (account, run) in [("17", "1"), ("18", "2"), ("17", "1")] {
        let request = relay.post("again", "a").header("x-account", account);
        assert_eq!(send(request).await.2, run);
    }
    let nobody = refusal(relay.post("again", "a")).await;
    assert_eq!(nobody, (500, "internal".to_owned()));
}

#[tokio::test]
async fn a_policy_further_out_edits_a_replayed_refusal_as_it_edited_the_first() {
    let relay = Relay::open_routes(OPERATION, |layer, _| {
        let layer = Idempotency::new(scoped(layer).keep(|_| Keep::Record));
        move |config: &mut web::ServiceConfig| {
            let policy = HttpPolicy::new().problem_types("https://api.example.com/problems");
            let refuse = async || {
                let operation = "the inner one".into();
                idem_runtime::Error::KeyMissing { operation }.to_http_response()
            };
            let route = web::resource("/refuse").to(refuse);
            config.service(route.wrap(layer.clone()).wrap(Policy::new(policy)));
        }
    })
    .await;
    let first = send(relay.post("refuse", "a")).await;
    let text = String::from_utf8_lossy(&first.2).into_owned();
    assert!(
        text.contains("https://api.example.com/problems#key-missing"),
        "{text}"
    );
    assert_eq!(send(relay.post("refuse", "a")).await, first);
}

#[tokio::test]
async fn a_service_gets_its_attempt_whose_key_it_gives_to_its_provider() {
    let relay = Relay::open_routes(REPEATABLE, |layer, _| {
        let layer = Idempotency::new(scoped(layer));
        move |config: &mut web::ServiceConfig| {
            let charge = async |attempt: web::ReqData<Attempt>| match attempt.number() {
                1 => HttpResponse::ServiceUnavailable().body(attempt.external_key()),
                _ => HttpResponse::Created().body(attempt.external_key()),
            };
            config.service(web::resource("/charge").to(charge).wrap(layer.clone()));
        }
    })
    .await;
    let first = send(relay.post("charge", "a")).await;
    let second = send(relay.post("charge", "a")).await;
    assert_eq!((first.0, second.0), (503, 201));
    assert_eq!(first.2, second.2);
    assert_eq!(first.2.len(), 36);
    assert_ne!(send(relay.post("charge", "b")).await.2, first.2);
}

/// What a handler tells the middlewares outside.
struct Reported(&'static str);

async fn report() -> HttpResponse {
    let mut response = HttpResponse::Ok().body("told");
    response.extensions_mut().insert(Reported("by the handler"));
    response
}

async fn listen(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let mut response = next.call(request).await?;
    let reported = response
        .response()
        .extensions()
        .get::<Reported>()
        .map(|reported| reported.0);
    let reported = HeaderValue::from_static(reported.unwrap_or("nothing"));
    let name = HeaderName::from_static("x-told");
    response.headers_mut().insert(name, reported);
    Ok(response)
}

#[tokio::test]
async fn the_first_answer_is_the_response_itself_with_all_that_its_service_put_into_it() {
    let relay = Relay::open_routes(OPERATION, |layer, _| {
        let layer = Idempotency::new(scoped(layer));
        move |config: &mut web::ServiceConfig| {
            let route = web::resource("/tell").to(report);
            config.service(route.wrap(layer.clone()).wrap(from_fn(listen)));
        }
    })
    .await;
    for reported in ["by the handler", "nothing"] {
        let answer = relay.post("tell", "a").send().await.expect("an answer");
        assert_eq!(answer.headers()["x-told"], reported);
        assert_eq!(answer.text().await.expect("a body"), "told");
    }
}

#[tokio::test]
async fn what_a_resource_refuses_is_not_asked_for_a_key_where_the_layer_is_around_the_route() {
    let relay = Relay::open_routes(OPERATION, |layer, _| {
        let layer = Idempotency::new(scoped(layer));
        move |config: &mut web::ServiceConfig| {
            let route = web::post().to(async || "made").wrap(layer.clone());
            config.service(web::resource("/orders").route(route));
        }
    })
    .await;
    assert_eq!(send(relay.request(Method::PATCH, "orders")).await.0, 405);
    let bare = refusal(relay.request(Method::POST, "orders")).await;
    assert_eq!(bare, (400, "key-missing".to_owned()));
    assert_eq!(send(relay.post("orders", "a")).await.2, "made");
}
