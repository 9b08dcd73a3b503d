//! What the page's buttons do to the machinery behind the service. A real service has none of these routes.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use idem_messaging::outbox::Origin;
use idem_runtime::{IdempotencyKey, Namespace, Scope};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::app::{App, OFFICER};
use crate::broker::BrokerError;
use crate::fact::CaseEscalated;
use crate::problem::internal;
use crate::rights::Rights;
use crate::stages;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/relay/kill", post(kill_relay))
        .route("/relay/start", post(start_relay))
        .route("/broker/stop", post(stop_broker))
        .route("/broker/start", post(start_broker))
        .route("/broker/deliver-again", post(deliver_again))
        .route("/broker/other-id", post(other_id))
        .route("/rights/revoke", post(revoke_right))
        .route("/rights/restore", post(restore_right))
        .route("/state", get(state))
        .route("/arrived", get(arrived))
}

/// What went wrong is for the log.
struct Failed;

impl<E: Into<BrokerError>> From<E> for Failed {
    fn from(error: E) -> Self {
        eprintln!("{}", error.into());
        Self
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        internal()
    }
}

async fn kill_relay(State(app): State<App>) -> StatusCode {
    app.relay.kill();
    StatusCode::NO_CONTENT
}

async fn start_relay(State(app): State<App>) -> StatusCode {
    app.relay.restart();
    StatusCode::NO_CONTENT
}

async fn stop_broker(State(app): State<App>) -> Result<StatusCode, Failed> {
    app.broker.stop().await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn start_broker(State(app): State<App>) -> Result<StatusCode, Failed> {
    app.broker.start().await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn deliver_again(State(app): State<App>) -> Result<StatusCode, Failed> {
    app.broker.deliver_again().await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn revoke_right(State(app): State<App>) -> Result<StatusCode, Failed> {
    Rights::of(app.pool).revoke(OFFICER).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn restore_right(State(app): State<App>) -> Result<StatusCode, Failed> {
    Rights::of(app.pool).restore(OFFICER).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Tells the last fact once more, as another producer would that knows nothing of the first event: under another id.
async fn other_id(State(app): State<App>) -> Result<StatusCode, Failed> {
    let last = "SELECT payload FROM idem_outbox ORDER BY seq DESC LIMIT 1";
    let Some(last) = sqlx::query_scalar::<_, Vec<u8>>(last)
        .fetch_optional(&app.pool)
        .await?
    else {
        return Ok(StatusCode::NOT_FOUND);
    };
    let fact: CaseEscalated = serde_json::from_slice(&last)?;
    let key: IdempotencyKey = uuid::Uuid::new_v4().to_string().parse()?;
    let archive = Namespace::from_static("archive");
    let origin = Origin::new(archive, Scope::GLOBAL, &key, "import")?;
    let mut tx = app.pool.begin().await?;
    app.outbox.append(&mut tx, fact.event(&origin)?).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns what the page shows.
async fn state(State(app): State<App>) -> Result<Json<Value>, Failed> {
    let relay = if app.relay.runs() { "runs" } else { "killed" };
    let broker = if app.broker.runs().await {
        "runs"
    } else {
        "stopped"
    };
    Ok(Json(json!({
        "relay": relay,
        "broker": broker,
        "deliveries": app.deliveries.counts(),
        "stages": stages::stages(&app.pool).await?,
        "tables": stages::tables(&app.pool).await?,
    })))
}

/// Answers when everything that was committed has arrived.
async fn arrived(State(app): State<App>) -> StatusCode {
    // An error means that the broker is away: then nothing arrives, until it is back.
    while !stages::have_arrived(&app).await.unwrap_or_default() {
        sleep(Duration::from_millis(50)).await;
    }
    StatusCode::NO_CONTENT
}
