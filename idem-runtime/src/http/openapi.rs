//! The edge in an OpenAPI document, through utoipa 6.
//!
//! Feature `openapi`. In `#[utoipa::path(..)]`, [`KeyHeader`] stands in `params(..)` and
//! [`Refusals`] in `responses(..)`. [`IdempotencyAddon`] among the document's `modifiers(..)` makes
//! one component of what they share, and tells clients of the header that marks a replay; a
//! [policy](HttpPolicy) does the same and tells of its own statuses:
//!
//! ```
//! use idem_runtime::http::openapi::{IdempotencyAddon, KeyHeader, Refusals};
//! use utoipa::OpenApi;
//!
//! #[utoipa::path(
//!     post,
//!     path = "/orders",
//!     params(KeyHeader),
//!     responses((status = 201, description = "placed"), Refusals),
//! )]
//! async fn post_order() {}
//!
//! #[derive(OpenApi)]
//! #[openapi(paths(post_order), modifiers(&IdempotencyAddon))]
//! struct Document;
//!
//! let document = serde_json::to_value(Document::openapi())?;
//! let operation = &document["paths"]["/orders"]["post"];
//! assert_eq!(operation["parameters"][0]["$ref"], "#/components/parameters/IdempotencyKey");
//! assert!(operation["responses"]["201"]["headers"]["Idempotent-Replayed"].is_object());
//! assert!(operation["responses"]["422"]["content"]["application/problem+json"].is_object());
//! # Ok::<_, serde_json::Error>(())
//! ```
//!
//! A handler with `marker = PlaceOrder` says it by itself: `params(PlaceOrder)` and
//! `responses(PlaceOrder)` follow its policy, and tell how long its keys are remembered. [`describe`] does
//! it for one operation without a handler of the attribute's.

mod document;
mod parameter;
mod responses;

use std::collections::BTreeMap;
use std::time::Duration;

use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::{OpenApi, RefOr, Response};
use utoipa::{IntoParams, IntoResponses, Modify};

use super::policy::{HttpPolicy, Rules};

/// Whether a request must have the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Without it the request is refused.
    Required,
    /// Without it the request is served, and is not safe to retry.
    Optional,
}

/// The request header, required.
#[derive(Debug, Clone, Copy)]
pub struct KeyHeader;

impl IntoParams for KeyHeader {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![parameter::inline(Presence::Required, None)]
    }
}

/// The request header, optional.
#[derive(Debug, Clone, Copy)]
pub struct OptionalKeyHeader;

impl IntoParams for OptionalKeyHeader {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![parameter::inline(Presence::Optional, None)]
    }
}

/// What a handler with a key may be refused with: 400, 409, 422, 500 and 503, each a
/// [`Problem`](super::Problem).
#[derive(Debug, Clone, Copy)]
pub struct Refusals;

impl IntoResponses for Refusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        responses::of(&Rules::default(), false)
    }
}

/// What a service inside an [`IdempotencyLayer`](super::layer::IdempotencyLayer) may be refused
/// with: 403 and 413 besides.
#[derive(Debug, Clone, Copy)]
pub struct LayerRefusals;

impl IntoResponses for LayerRefusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        responses::of(&Rules::default(), true)
    }
}

/// For a document's `modifiers(..)`: `Problem` and the header become components, and each success of
/// an operation with the header says that it may be a replay.
#[derive(Debug, Clone, Copy)]
pub struct IdempotencyAddon;

impl Modify for IdempotencyAddon {
    fn modify(&self, document: &mut OpenApi) {
        document::edit(document, &Rules::default());
    }
}

/// Does what [`IdempotencyAddon`] does, and edits what an operation with the header may be refused
/// with as the policy edits the refusals: statuses, and the header's syntax.
impl Modify for HttpPolicy {
    fn modify(&self, document: &mut OpenApi) {
        document::edit(document, self.rules());
    }
}

/// Adds to `operation` the header, the refusals, and on its successes the header that marks a
/// replay. `retention` is that of the handler: how long a key is remembered.
///
/// What `operation` already says of one of these statuses stays.
pub fn describe(operation: &mut Operation, presence: Presence, retention: Duration) {
    operation
        .parameters
        .get_or_insert_default()
        .push(parameter::inline(presence, Some(retention)).into());
    responses::mark_replays(operation);
    for (status, response) in Refusals::responses() {
        operation
            .responses
            .responses
            .entry(status)
            .or_insert(response);
    }
}

/// What the marker of a handler implements for its route.
#[doc(hidden)]
pub mod generated {
    use std::collections::BTreeMap;

    use utoipa::openapi::path::Parameter;
    pub use utoipa::openapi::path::ParameterIn;
    use utoipa::openapi::{RefOr, Response};
    pub use utoipa::{IntoParams, IntoResponses};

    use super::{Presence, Refusals, parameter};
    use crate::spec::DescribeOperation;

    pub type Parameters = Vec<Parameter>;
    pub type Responses = BTreeMap<String, RefOr<Response>>;

    /// The header as the operation wants it: required or optional, and for how long it is remembered.
    pub fn parameters_of<T: DescribeOperation>() -> Parameters {
        let policy = T::OPERATION.policy();
        let presence = if policy.key_required {
            Presence::Required
        } else {
            Presence::Optional
        };
        vec![parameter::inline(presence, Some(policy.retention))]
    }

    /// What the operation may be refused with.
    pub fn responses_of<T: DescribeOperation>() -> Responses {
        Refusals::responses()
    }
}
