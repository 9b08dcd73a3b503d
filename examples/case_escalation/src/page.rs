//! The page to try the service with; no build step.

use axum::response::Html;

/// Buttons, and what came of each, side by side.
pub(crate) async fn page() -> Html<&'static str> {
    Html(include_str!("page.html"))
}
