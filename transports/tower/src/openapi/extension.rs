//! The extension by which generated clients know the operations that take a key.

use serde_json::json;
use utoipa::openapi::path::Operation;

use super::Presence;

/// The name of the extension.
const NAME: &str = "x-idempotency";

/// Marks the operation, unless its document does so itself: `"x-idempotency": {"key": "required"}`.
pub(super) fn add(operation: &mut Operation, presence: Presence) {
    let key = match presence {
        Presence::Required => "required",
        Presence::Optional => "optional",
    };
    let extensions = operation.extensions.get_or_insert_default();
    extensions
        .entry(NAME.to_owned())
        .or_insert_with(|| json!({ "key": key }));
}
