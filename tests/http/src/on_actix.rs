//! The shop on actix-web.

use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;

use actix_web::body::MessageBody;
use actix_web::dev::{self, ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{ETAG, HeaderValue, LOCATION};
use actix_web::middleware::{Condition, Next, from_fn};
use actix_web::{
    App, Error, HttpMessage as _, HttpRequest, HttpResponse, HttpServer, ResponseError, rt, web,
};
use idem_actix::{Key, OptionalKey, Policy, Replay, ToHttpResponse as _, status};
use idem_runtime::Scope;

use crate::desk::{DeclineError, Desk, Order, OrderError, Placed};
use crate::framework::{Framework, Rules, Server, access, orders, tenant};

/// An application of actix-web.
#[derive(Debug)]
pub struct OnActix;

impl ResponseError for OrderError {
    fn error_response(&self) -> HttpResponse {
        match self {
            Self::Idempotency(error) => error.to_http_response(),
            Self::Database(_) => HttpResponse::new(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }
}

impl ResponseError for DeclineError {
    fn error_response(&self) -> HttpResponse {
        match self {
            Self::Idempotency(error) => error.to_http_response(),
            other => HttpResponse::Gone().body(other.to_string()),
        }
    }
}

async fn post_order(
    desk: web::Data<Desk>,
    Key(key): Key,
    order: web::Json<Order>,
) -> Result<Replay<HttpResponse>, OrderError> {
    let placed = desk.order(key, order.into_inner()).await?;
    Ok(Replay(placed.map(|placed| {
        let number = placed.number;
        HttpResponse::Created()
            .insert_header((LOCATION, format!("/orders/{number}")))
            .insert_header((ETAG, format!("\"{number}\"")))
            .json(placed)
    })))
}

async fn post_item(
    desk: web::Data<Desk>,
    Key(key): Key,
    order: web::Json<Order>,
) -> Result<Replay<web::Json<Placed>>, OrderError> {
    let placed = desk.item(&key, order.into_inner()).await?;
    Ok(Replay(placed.map(web::Json)))
}

async fn post_note(
    desk: web::Data<Desk>,
    OptionalKey(key): OptionalKey,
    order: web::Json<Order>,
) -> Result<Replay<web::Json<Placed>>, OrderError> {
    let noted = desk.note(key, order.into_inner()).await?;
    Ok(Replay(noted.map(web::Json)))
}

async fn post_declined(
    desk: web::Data<Desk>,
    Key(key): Key,
    order: web::Json<Order>,
) -> Result<HttpResponse, Replay<DeclineError>> {
    let placed = desk.decline(key, order.into_inner()).await?;
    Ok(HttpResponse::Ok().json(&*placed))
}

async fn post_declined_no_longer(
    desk: web::Data<Desk>,
    Key(key): Key,
    order: web::Json<Order>,
) -> Result<HttpResponse, OrderError> {
    let placed = desk.decline_no_longer(key, order.into_inner()).await?;
    Ok(HttpResponse::Ok().json(&*placed))
}

async fn get_status(desk: web::Data<Desk>, request: HttpRequest) -> HttpResponse {
    let scope = request.extensions().get::<Scope>().cloned();
    let access = match access(scope) {
        Ok(access) if request.path() == "/results" => access.with_result(),
        Ok(access) => access,
        Err(problem) => return problem.to_http_response(),
    };
    status(&desk.pool, &orders(), &access, &request).await
}

/// Stands for authentication.
///
/// # Errors
/// Those of what is inside.
pub async fn authenticate<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, Error> {
    let header = request.headers().get("x-tenant");
    if let Some(scope) = tenant(header.map(HeaderValue::as_bytes)) {
        request.extensions_mut().insert(scope);
    }
    next.call(request).await
}

/// Serves an application on a thread of its own, made into a server with one worker by the caller.
///
/// # Panics
/// Panics if the server does not start.
pub fn serve(server: impl FnOnce() -> dev::Server + Send + 'static) -> Server {
    let (started, handle) = mpsc::channel();
    thread::spawn(move || {
        rt::System::new().block_on(async {
            let server = server();
            started.send(server.handle()).expect("the test waits");
            server.await.expect("served");
        });
    });
    let handle = handle.recv().expect("it starts");
    Server::stopped_by(move || drop(handle.stop(false)))
}

impl Framework for OnActix {
    fn serve(listener: TcpListener, desk: Desk, rules: Rules) -> Server {
        let mut policies = rules.policies.into_iter();
        let (inner, outer) = (policies.next(), policies.next());
        assert!(policies.next().is_none(), "two policies at most");
        let policy = |policy: Option<_>| {
            Condition::new(policy.is_some(), Policy::new(policy.unwrap_or_default()))
        };
        let app = move || {
            App::new()
                .app_data(web::Data::new(desk.clone()))
                .service(web::resource("/orders").route(web::post().to(post_order)))
                .service(web::resource("/items").route(web::post().to(post_item)))
                .service(web::resource("/notes").route(web::post().to(post_note)))
                .service(web::resource("/declined").route(web::post().to(post_declined)))
                .service(
                    web::resource("/declined-no-longer")
                        .route(web::post().to(post_declined_no_longer)),
                )
                .service(
                    web::resource(["/operations", "/results"]).route(web::get().to(get_status)),
                )
                .wrap(policy(inner.clone()))
                .wrap(policy(outer.clone()))
                .wrap(from_fn(authenticate))
        };
        serve(move || {
            let server = HttpServer::new(app).workers(1).disable_signals();
            server.listen_auto_h2c(listener).expect("a socket").run()
        })
    }
}
