//! A stand-in for the notifier, on routes of this program. It counts the requests under each key, but does not
//! recognise a key again: it sends every notice that arrives.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::Value;

use crate::notifier::Receipt;

/// A notice to this address is sent, and the answer is lost.
pub const LOSES_ANSWERS: &str = "nobody@lost.example";

/// How many notices went out under each key.
#[derive(Clone, Default)]
struct Sent(Arc<Mutex<BTreeMap<String, u64>>>);

impl Sent {
    fn counts(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn routes() -> Router {
    Router::new()
        .route("/notifier", post(deliver).get(counts))
        .route("/notifier/{key}", get(look_up))
        .with_state(Sent::default())
}

async fn deliver(State(sent): State<Sent>, headers: HeaderMap, body: Bytes) -> Response {
    let key = headers
        .get("idempotency-key")
        .and_then(|key| key.to_str().ok());
    let notice = serde_json::from_slice::<Value>(&body);
    let (Some(key), Ok(notice)) = (key, notice) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    *sent.counts().entry(key.to_owned()).or_default() += 1;
    if notice["supervisor"] == LOSES_ANSWERS {
        return StatusCode::GATEWAY_TIMEOUT.into_response();
    }
    Json(receipt(key)).into_response()
}

async fn look_up(State(sent): State<Sent>, Path(key): Path<String>) -> Response {
    if sent.counts().contains_key(&key) {
        Json(receipt(&key)).into_response()
    } else {
        StatusCode::NOT_FOUND.into_response()
    }
}

async fn counts(State(sent): State<Sent>) -> Response {
    Json(sent.counts().clone()).into_response()
}

fn receipt(key: &str) -> Receipt {
    let notice = format!("notice-{key}");
    Receipt { notice }
}
