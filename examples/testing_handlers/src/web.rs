//! The route of orders.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Json, Router};
use idem_axum::HttpPolicy;
use idem_runtime::error::is_transient;
use idem_runtime::{IdempotencyKey, Scope};
use sqlx::SqlitePool;

use crate::{OrderError, PlaceOrder, place_order};

impl IntoResponse for OrderError {
    fn into_response(self) -> Response {
        match self {
            Self::Idempotency(error) => error.into_response(),
            Self::Database(error) if is_transient(&error) => {
                StatusCode::SERVICE_UNAVAILABLE.into_response()
            }
            Self::Database(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            Self::SoldOut { .. } | Self::Recorded(_) => StatusCode::CONFLICT.into_response(),
        }
    }
}

async fn post_order(
    State(pool): State<SqlitePool>,
    key: IdempotencyKey,
    Json(order): Json<PlaceOrder>,
) -> Result<impl IntoResponse, OrderError> {
    let placed = place_order(&pool, &key, &order).await?;
    Ok((StatusCode::CREATED, placed.map(Json)))
}

/// The routes of the service.
pub fn app(pool: SqlitePool) -> Router {
    Router::new()
        .route("/orders", post(post_order))
        .layer(HttpPolicy::new())
        // Stands for authentication, which sets the scope of each request.
        .layer(Extension(Scope::GLOBAL))
        .with_state(pool)
}
