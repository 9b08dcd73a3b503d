//! The OpenAPI document of the commands.

use axum::Json;
use utoipa::openapi::OpenApi as Document;
use utoipa::{Modify, OpenApi};

use crate::app;

/// Edits the document with the service's policy, as it edits the answers.
struct Policy;

impl Modify for Policy {
    fn modify(&self, document: &mut Document) {
        app::policy().modify(document);
    }
}

/// The document of the requests and answers.
#[derive(Debug, OpenApi)]
#[openapi(
    paths(app::post_escalation, app::reconcile),
    modifiers(&Policy)
)]
pub struct Api;

pub(crate) async fn serve() -> Json<Document> {
    Json(Api::openapi())
}
