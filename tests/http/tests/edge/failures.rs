//! Failures that are recorded, and how a replayed one is answered.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use idem_runtime::{
    Failure, IdempotencyKey, ReplayExt as _, Replayable, StoredFailure, idempotent,
};
use reqwest::{Client, RequestBuilder};
use sqlx::{SqlitePool, SqliteTransaction};

use crate::client::{problem, send};
use crate::shop::{Order, OrderError, Placed, Shop, text};

#[derive(Debug, thiserror::Error, Failure)]
enum DeclineError {
    #[error("no {item} today")]
    #[failure(permanent)]
    SoldOut { item: String },
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

impl IntoResponse for DeclineError {
    fn into_response(self) -> Response {
        match self {
            Self::Idempotency(error) => error.into_response(),
            other => (StatusCode::GONE, other.to_string()).into_response(),
        }
    }
}

#[idempotent(namespace = "orders", operation = "decline", failures = "record")]
async fn decline(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    order: &Order,
) -> Result<Placed, DeclineError> {
    assert!(!key.as_str().is_empty());
    sqlx::query("INSERT INTO orders (item) VALUES (?)")
        .bind(&order.item)
        .execute(&mut **tx)
        .await?;
    let item = order.item.clone();
    Err(DeclineError::SoldOut { item })
}

/// The same by a build that records no failures any more.
#[idempotent(namespace = "orders", operation = "decline")]
async fn decline_no_longer(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    order: &Order,
) -> Result<Placed, OrderError> {
    assert!(!key.as_str().is_empty());
    let number = sqlx::query_scalar("INSERT INTO orders (item) VALUES (?) RETURNING number")
        .bind(&order.item)
        .fetch_one(&mut **tx)
        .await?;
    let item = order.item.clone();
    Ok(Placed { number, item })
}

pub(crate) fn routes() -> Router<SqlitePool> {
    let recording = async |State(pool): State<SqlitePool>,
                           key: IdempotencyKey,
                           Json(order): Json<Order>|
           -> Result<Json<Placed>, Replayable<DeclineError>> {
        let placed = decline(&pool, &key, &order).replayable().await?;
        Ok(Json(placed.into_inner()))
    };
    let no_longer = async |State(pool): State<SqlitePool>,
                           key: IdempotencyKey,
                           Json(order): Json<Order>|
           -> Result<Json<Placed>, OrderError> {
        let placed = decline_no_longer(&pool, &key, &order).await?;
        Ok(Json(placed.into_inner()))
    };
    Router::new()
        .route("/declined", post(recording))
        .route("/declined-no-longer", post(no_longer))
}

fn declined(shop: &Shop, path: &str, item: &str) -> RequestBuilder {
    Client::new()
        .post(format!("{}{path}", shop.url))
        .header("x-tenant", "acme")
        .header("idempotency-key", "\"a\"")
        .header("content-type", "application/json")
        .body(format!(r#"{{"item":"{item}"}}"#))
}

#[tokio::test]
async fn a_replayed_failure_says_that_it_is_one_and_a_first_one_does_not() {
    let shop = Shop::open().await;
    for replayed in [None, Some("true"), Some("true")] {
        let answer = send(declined(&shop, "/declined", "tea")).await;
        assert_eq!(answer.status(), StatusCode::GONE);
        let header = answer.headers().get("idempotent-replayed").map(text);
        assert_eq!(header, replayed);
        assert_eq!(answer.text().await.expect("a body"), "no tea today");
    }
    let mismatch = send(declined(&shop, "/declined", "coffee")).await;
    assert!(!mismatch.headers().contains_key("idempotent-replayed"));
    assert_eq!(problem(mismatch).await["code"], "mismatch");
    // And where only the library can carry it.
    let answer = send(declined(&shop, "/declined-no-longer", "tea")).await;
    assert_eq!(text(&answer.headers()["idempotent-replayed"]), "true");
    assert_eq!(problem(answer).await["code"], "recorded-failure");
    assert_eq!(shop.count().await, (0, 1));
}
