//! Reads requests in JSON, and refuses them in the form of all other refusals.

use axum::Json;
use axum::extract::{FromRequest, Request};
use axum::response::Response;
use serde::de::DeserializeOwned;

use crate::problem::refusal;

/// Extracts a body as axum's `Json` does.
#[derive(Debug)]
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        match Json::from_request(request, state).await {
            Ok(Json(value)) => Ok(Self(value)),
            Err(rejection) => Err(refusal(
                rejection.status(),
                "unreadable",
                &rejection.body_text(),
            )),
        }
    }
}
