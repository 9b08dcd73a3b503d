//! The routes, and who is behind a request.

use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use idem_runtime::http::HttpPolicy;
use idem_runtime::{IdempotencyKey, Scope};
use sqlx::SqlitePool;

use crate::escalate::{self, EscalateError, Reason};
use crate::notify::{self, Notice, Notifier, NotifyError, Words};
use crate::{page, problem, store, stub};

/// What the routes work with.
#[derive(Debug, Clone)]
pub struct App {
    /// The database.
    pub pool: SqlitePool,
    /// Who tells supervisors.
    pub notifier: Notifier,
}

/// Who asks.
#[derive(Debug, Clone)]
struct Officer(String);

/// The service: commands, what is stored, the page, and the notifier's stand-in.
pub fn routes(app: App) -> Router {
    let commands = Router::new()
        .route("/cases/{case}/escalations", post(post_escalation))
        .route("/cases/{case}/notices", post(post_notice))
        .layer(HttpPolicy::new())
        .layer(from_fn(sign_in));
    Router::new()
        .merge(commands)
        .route("/notices/reconciliation", post(reconcile))
        .route("/tables", get(tables))
        .with_state(app)
        .route("/", get(page::page))
        .merge(stub::routes())
}

/// Stands for authentication. The scope is the office and not the officer's session: a retry may come
/// after a new sign-in.
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

async fn post_escalation(
    State(app): State<App>,
    Extension(Officer(officer)): Extension<Officer>,
    Path(case): Path<String>,
    key: IdempotencyKey,
    Json(reason): Json<Reason>,
) -> Result<impl IntoResponse, EscalateError> {
    let done = escalate::escalate(&app.pool, &key, &case, &officer, &reason).await?;
    let place = format!("/cases/{}/escalations/{}", done.case, done.number);
    let location = [(header::LOCATION, place)];
    Ok((StatusCode::CREATED, location, done.map(Json)))
}

async fn post_notice(
    State(app): State<App>,
    Path(case): Path<String>,
    key: IdempotencyKey,
    Json(Words { to, text }): Json<Words>,
) -> Result<impl IntoResponse, NotifyError> {
    let notice = Notice { case, to, text };
    let receipt = notify::notify(&app.pool, &key, app.notifier, notice).await?;
    Ok((StatusCode::CREATED, receipt.map(Json)))
}

async fn reconcile(State(app): State<App>) -> Result<Response, NotifyError> {
    let settled = notify::reconcile(&app.pool, &app.notifier).await?;
    Ok(Json(settled).into_response())
}

async fn tables(State(app): State<App>) -> Response {
    match store::tables(&app.pool).await {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(_) => problem::internal(),
    }
}
