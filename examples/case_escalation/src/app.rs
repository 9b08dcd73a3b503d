//! The routes, and the officer behind a request.

use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use idem_axum::openapi::{KeyHeader, ProblemSchema, Refusals};
use idem_axum::{Detached, HttpPolicy};
use idem_runtime::{IdempotencyKey, ReplayExt as _, Replayable, Scope};
use sqlx::SqlitePool;

use crate::body::Body;
use crate::escalate::{self, EscalateError, Escalation, Reason};
use crate::notify::{self, Notice, Notifier, NotifyError, Receipt, Words};
use crate::{document, page, problem, store, stub};

/// The state that the routes share.
#[derive(Debug, Clone)]
pub struct App {
    /// The database.
    pub pool: SqlitePool,
    /// The service that tells supervisors.
    pub notifier: Notifier,
    /// Runs commands to their end even if an officer has hung up.
    pub detached: Detached,
}

/// The officer who sent the request.
#[derive(Debug, Clone)]
pub(crate) struct Officer(String);

/// Returns the service: commands, stored data, the page, and the notifier's stand-in.
pub fn routes(app: App) -> Router {
    let commands = Router::new()
        .route("/cases/{case}/escalations", post(post_escalation))
        .route("/cases/{case}/notices", post(post_notice))
        // On the routes and not around the router, which would ask a `PATCH` for a key before it answers 405.
        .route_layer(app.detached.clone())
        .route_layer(policy())
        .route_layer(from_fn(sign_in));
    Router::new()
        .merge(commands)
        .route("/notices/reconciliation", post(reconcile))
        .route("/tables", get(tables))
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
            about.insert(Officer("officer-7".to_owned()));
            next.run(request).await
        }
        Err(_) => StatusCode::UNAUTHORIZED.into_response(),
    }
}

/// Escalates a case.
#[utoipa::path(
    post,
    path = "/cases/{case}/escalations",
    params(("case" = String, Path, pattern = "^[0-9]{1,6}$"), KeyHeader),
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
    let call = escalate::escalate(&app.pool, &key, &case, &officer, &reason);
    // A replayed refusal says that it is a replay, as a replayed escalation does.
    let done = call.replayable().await?;
    let location = format!("/cases/{}/escalations/{}", done.case, done.number);
    let location = [(header::LOCATION, location)];
    Ok((StatusCode::CREATED, location, done.map(Json)))
}

/// Tells a supervisor.
#[utoipa::path(
    post,
    path = "/cases/{case}/notices",
    params(("case" = String, Path, pattern = "^[0-9]{1,6}$"), KeyHeader),
    request_body = Words,
    responses(
        (status = 201, description = "The notice is sent.", body = Receipt),
        Refusals,
        (status = 413, description = "The body is too long.", body = ProblemSchema, content_type = "application/problem+json"),
        (status = 415, description = "The body is not JSON.", body = ProblemSchema, content_type = "application/problem+json"),
        (status = 502, description = "The notifier gave no receipt.", body = ProblemSchema, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn post_notice(
    State(app): State<App>,
    Path(case): Path<String>,
    key: IdempotencyKey,
    Body(Words { to, text }): Body<Words>,
) -> Result<impl IntoResponse, NotifyError> {
    let notice = Notice { case, to, text };
    let receipt = notify::notify(&app.pool, &key, app.notifier, notice).await?;
    Ok((StatusCode::CREATED, receipt.map(Json)))
}

/// Asks the notifier about the notices of unknown outcome.
#[utoipa::path(
    post,
    path = "/notices/reconciliation",
    responses(
        (status = 200, description = "How many were found out.", body = usize, content_type = "application/json"),
        Refusals,
        (status = 502, description = "The notifier gave no receipt.", body = ProblemSchema, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn reconcile(State(app): State<App>) -> Result<Response, NotifyError> {
    let settled = notify::reconcile(&app.pool, &app.notifier).await?;
    Ok(Json(settled).into_response())
}

async fn tables(State(app): State<App>) -> Response {
    match store::tables(&app.pool).await {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(_) => problem::internal(),
    }
}
