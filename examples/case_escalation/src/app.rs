//! The service: its routes, and the officer behind a request.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use idem_axum::openapi::{KeyHeader, ProblemSchema, Refusals};
use idem_axum::{Detached, HttpPolicy};
use idem_messaging::outbox::Outbox;
use idem_runtime::{IdempotencyKey, ReplayExt as _, Replayable, Scope};

use crate::body::Body;
use crate::broker::{Broker, BrokerError};
use crate::consumers::{Consumers, Deliveries};
use crate::database::Pool;
use crate::escalate::{self, EscalateError, Escalation, Reason};
use crate::notifier::Notifier;
use crate::relay::RelaySwitch;
use crate::rights::Rights;
use crate::{document, notify, operate, page, problem, stub};

/// The state that the routes share.
#[derive(Debug, Clone)]
pub struct App {
    /// The database.
    pub pool: Pool,
    /// The service that tells supervisors.
    pub notifier: Notifier,
    /// Runs commands to their end even if an officer has hung up.
    pub detached: Detached,
    /// The events that are to leave.
    pub outbox: Outbox,
    /// What publishes them.
    pub relay: Arc<RelaySwitch>,
    /// What delivers them, and the consumers.
    pub broker: Arc<Broker>,
    /// How many messages were delivered.
    pub deliveries: Deliveries,
}

impl App {
    /// Starts broker, consumers and relay on a database that was opened.
    ///
    /// # Errors
    /// The broker's.
    pub async fn start(pool: Pool, notifier: Notifier) -> Result<Self, BrokerError> {
        let (outbox, deliveries) = (Outbox::new(), Deliveries::default());
        let consumers = Consumers {
            pool: pool.clone(),
            notifier: notifier.clone(),
            deliveries: deliveries.clone(),
        };
        let broker = Broker::open(consumers, outbox.clone()).await?;
        let relay = RelaySwitch::start(pool.clone(), outbox.clone(), broker.publisher());
        Ok(Self {
            pool,
            notifier,
            detached: Detached::new(64),
            outbox,
            relay: Arc::new(relay),
            broker: Arc::new(broker),
            deliveries,
        })
    }
}

/// The officer who is always signed in.
pub(crate) const OFFICER: &str = "officer-7";

/// The officer who sent the request.
#[derive(Debug, Clone)]
pub(crate) struct Officer(String);

/// Returns the service: commands, the page with its buttons, and the notifier's stand-in.
pub fn routes(app: App) -> Router {
    let commands = Router::new()
        .route("/cases/{case}/escalations", post(post_escalation))
        // On the route and not around the router, which would ask a `PATCH` for a key before it answers 405.
        .route_layer(app.detached.clone())
        .route_layer(policy())
        .route_layer(from_fn(sign_in));
    Router::new()
        .merge(commands)
        .route("/notices/reconciliation", post(reconcile))
        .merge(operate::routes())
        .with_state(app)
        .route("/", get(page::page))
        .route("/problems", get(page::problems))
        .route("/openapi.json", get(document::serve))
        .merge(stub::routes())
}

/// Returns the policy, which explains the library's refusals on the same page as the service's own.
pub(crate) fn policy() -> HttpPolicy {
    HttpPolicy::new()
        .problem_types("/problems")
        .documentation("/problems")
}

/// Stands in for authentication. The scope is the office and not the officer's session, because a retry may
/// come after a new sign-in.
async fn sign_in(mut request: Request, next: Next) -> Response {
    match Scope::new("district-9") {
        Ok(office) => {
            let about = request.extensions_mut();
            about.insert(office);
            about.insert(Officer(OFFICER.to_owned()));
            next.run(request).await
        }
        Err(_) => StatusCode::UNAUTHORIZED.into_response(),
    }
}

/// Escalates a case.
#[utoipa::path(
    post,
    path = "/cases/{case}/escalations",
    params(("case" = String, Path, pattern = "^[0-9]{1,6}$", example = "481"), KeyHeader),
    request_body = Reason,
    responses(
        (status = 201, description = "The case is escalated.", body = Escalation,
            headers(("Location" = String, description = "The escalation."))),
        Refusals,
        (status = 413, description = "The body is too long.", body = ProblemSchema, content_type = "application/problem+json"),
        (status = 415, description = "The body is not JSON.", body = ProblemSchema, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn post_escalation(
    State(app): State<App>,
    Extension(Officer(officer)): Extension<Officer>,
    Path(case): Path<String>,
    key: IdempotencyKey,
    Body(reason): Body<Reason>,
) -> Result<impl IntoResponse, Replayable<EscalateError>> {
    let rights = Rights::of(app.pool.clone());
    let call = escalate::escalate(
        &app.pool,
        &key,
        &app.outbox,
        &rights,
        &case,
        &officer,
        &reason,
    );
    // A replayed refusal says that it is a replay, as a replayed escalation does.
    let done = call.replayable().await?;
    let location = format!("/cases/{}/escalations/{}", done.case, done.version);
    let location = [(header::LOCATION, location)];
    Ok((StatusCode::CREATED, location, done.map(Json)))
}

/// Asks the notifier about the notices of unknown outcome, and lets their messages come back.
#[utoipa::path(
    post,
    path = "/notices/reconciliation",
    responses(
        (status = 200, description = "How many were found out.", body = usize, content_type = "application/json"),
        Refusals,
        (status = 502, description = "The notifier gave no answer.", body = ProblemSchema, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn reconcile(State(app): State<App>) -> Response {
    let settled = match notify::reconcile(&app.pool, &app.notifier).await {
        Ok(settled) => settled,
        Err(error) => return error.into_response(),
    };
    match app.broker.requeue_parked().await {
        Ok(()) => Json(settled).into_response(),
        Err(_) => problem::internal(),
    }
}
