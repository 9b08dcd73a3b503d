//! Over HTTP: `POST /payments` with the header `Idempotency-Key`.

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use idem_runtime::IdempotencyKey;
use idem_runtime::error::is_transient;
use sqlx::SqlitePool;

use crate::account;
use crate::handler::{CreatePayment, PaymentError, create_payment};

impl IntoResponse for PaymentError {
    fn into_response(self) -> Response {
        match self {
            Self::Idempotency(error) => error.into_response(),
            Self::Database(error) if is_transient(&error) => {
                StatusCode::SERVICE_UNAVAILABLE.into_response()
            }
            Self::Database(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }
}

async fn post_payment(
    State(pool): State<SqlitePool>,
    key: IdempotencyKey,
    Json(cmd): Json<CreatePayment>,
) -> Result<impl IntoResponse, PaymentError> {
    let payment = create_payment(&pool, &key, &cmd).await?;
    Ok((StatusCode::CREATED, payment.map(Json)))
}

async fn authenticate(mut request: Request, next: Next) -> Response {
    let sent = request.headers().get(header::AUTHORIZATION);
    match account::of(sent.and_then(|value| value.to_str().ok())) {
        Some(scope) => {
            request.extensions_mut().insert(scope);
            next.run(request).await
        }
        None => StatusCode::UNAUTHORIZED.into_response(),
    }
}

/// The routes.
pub fn routes(pool: SqlitePool) -> Router {
    Router::new()
        .route("/payments", post(post_payment))
        .with_state(pool)
        .layer(from_fn(authenticate))
}
