//! The whole path inside `Router::nest`.

use axum::extract::OriginalUri;
use http::Uri;
use http::request::Parts;
use idem_tower::layer::WholeUri;

/// The path before `Router::nest` has cut its prefix off.
#[derive(Debug, Clone, Copy)]
pub struct Nested;

impl WholeUri for Nested {
    fn whole_uri(parts: &Parts) -> &Uri {
        let original = parts.extensions.get::<OriginalUri>();
        original.map_or(&parts.uri, |original| &original.0)
    }
}
