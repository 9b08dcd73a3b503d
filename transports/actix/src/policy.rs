//! A middleware that changes the rules of the HTTP edge for a scope.

use std::future::{Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::body::{BoxBody, EitherBody, MessageBody};
use actix_web::dev::{Service, ServiceRequest, ServiceResponse, Transform};
use actix_web::{Error, HttpMessage as _};
use idem_runtime::IdempotencyKey;
use idem_runtime::http::Problem;
use idem_tower::{HttpPolicy, MaybeBuffered};

use crate::convert::{ActixBody, plain_head, plain_headers, set_head};

/// A middleware that sets how what is inside it reads keys and answers refusals; of two policies the inner one applies.
/// [`HttpPolicy`] says what it changes, and what it leaves. A refusal that a middleware inside returns as an `Err` passes as it is:
/// this edits responses, and actix makes one of an error only further out.
///
/// ```
/// use actix_web::{App, http::StatusCode, web};
/// use idem_actix::{HttpPolicy, InFlightAnswer, Policy};
///
/// # async fn post_order() -> &'static str { "placed" }
/// let policy = HttpPolicy::new().strict().in_flight(InFlightAnswer::status_at("/operations"));
/// let app = App::new().service(web::resource("/orders").route(web::post().to(post_order))).wrap(Policy::new(policy));
/// # let _ = (app, StatusCode::OK);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Policy(HttpPolicy);

impl Policy {
    /// Creates the middleware of this policy.
    pub fn new(policy: HttpPolicy) -> Self {
        Self(policy)
    }
}

impl<S, B> Transform<S, ServiceRequest> for Policy
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
{
    type Response = ServiceResponse<EitherBody<B>>;
    type Error = Error;
    type Transform = PolicyMiddleware<S>;
    type InitError = ();
    type Future = Ready<Result<PolicyMiddleware<S>, ()>>;

    fn new_transform(&self, service: S) -> Self::Future {
        ready(Ok(PolicyMiddleware {
            service,
            policy: self.0.clone(),
        }))
    }
}

/// The service of [`Policy`].
#[derive(Debug)]
pub struct PolicyMiddleware<S> {
    service: S,
    policy: HttpPolicy,
}

impl<S, B> Service<ServiceRequest> for PolicyMiddleware<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
{
    type Response = ServiceResponse<EitherBody<B>>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Error>>>>;

    fn poll_ready(&self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.service.poll_ready(context)
    }

    fn call(&self, request: ServiceRequest) -> Self::Future {
        let policy = self.policy.clone();
        let key = policy.status_key(&plain_headers(request.headers()));
        // The extractor reads the key by this syntax.
        request.extensions_mut().insert(policy.syntax());
        let response = self.service.call(request);
        Box::pin(async move { Ok(edit(&policy, key.as_ref(), response.await?).await) })
    }
}

/// Edits the response if it is a refusal. Its problem is removed with that: outer policies leave it as it is.
async fn edit<B: MessageBody + 'static>(
    policy: &HttpPolicy,
    key: Option<&IdempotencyKey>,
    mut response: ServiceResponse<B>,
) -> ServiceResponse<EitherBody<B>> {
    let problem = response.response_mut().extensions_mut().remove::<Problem>();
    let Some(problem) = problem else {
        return response.map_into_left_body();
    };
    let (request, response) = response.into_parts();
    let (mut response, body) = response.into_parts();
    let mut plain = plain_head(&response).map(|()| ActixBody::of(body));
    plain.extensions_mut().insert(problem);
    let (parts, body) = policy.edit(key, plain).await.into_parts();
    set_head(&mut response, parts.status.as_u16(), &parts.headers);
    let response = match body {
        MaybeBuffered::Passed { body } => response.set_body(EitherBody::left(body.into_inner())),
        MaybeBuffered::Buffered { body } => {
            response.set_body(EitherBody::right(BoxBody::new(body.data().clone())))
        }
    };
    ServiceResponse::new(request, response)
}
