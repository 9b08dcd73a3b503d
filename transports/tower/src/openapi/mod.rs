//! The edge in an OpenAPI document, through utoipa 6.
//!
//! Feature `openapi`. In `#[utoipa::path(..)]`, write [`KeyHeader`] in `params(..)` and
//! [`Refusals`] in `responses(..)`. Add [`IdempotencyAddon`] to the document's `modifiers(..)`: it turns
//! their shared parts into components, documents the header that marks a replay, and marks each operation with
//! the header by `x-idempotency`, for generated clients. A
//! [policy](HttpPolicy) does the same with its own statuses:
//!
//! ```
//! use idem_tower::openapi::{IdempotencyAddon, KeyHeader, Refusals};
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
//! assert_eq!(operation["x-idempotency"]["key"], "required");
//! assert!(operation["responses"]["201"]["headers"]["Idempotent-Replayed"].is_object());
//! assert!(operation["responses"]["422"]["content"]["application/problem+json"].is_object());
//! # Ok::<_, serde_json::Error>(())
//! ```
//!
//! For a handler with `marker = PlaceOrder`, write `params(KeyHeader<PlaceOrder>)` and
//! `responses(Refusals<PlaceOrder>)`: they follow its policy, and state how long its keys are remembered.
//! [`describe`] does the same for one operation without the attribute. [`ProblemSchema`] is the body of
//! a service's own refusals.

mod document;
mod extension;
mod parameter;
mod problem;
mod responses;

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use idem_runtime::handler::{DescribeOperation, OperationSpec};
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::{OpenApi, RefOr, Response};
use utoipa::{IntoParams, IntoResponses, Modify};

pub use self::problem::ProblemSchema;
use crate::options::PolicyOptions;
use crate::policy::HttpPolicy;

/// Whether a request must have the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// A request without it is refused.
    Required,
    /// A request without it is served, but is not safe to retry.
    Optional,
}

/// The default marker: an unknown operation.
#[derive(Debug, Clone, Copy)]
pub struct AnyOperation;

/// The request header, required. `KeyHeader<PlaceOrder>` is required or optional by the operation of the
/// marker, and states how long its keys are remembered.
pub struct KeyHeader<T = AnyOperation>(PhantomData<fn() -> T>);

impl IntoParams for KeyHeader {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![parameter::inline(Presence::Required, None)]
    }
}

impl<T: DescribeOperation> IntoParams for KeyHeader<T> {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let spec: OperationSpec = T::OPERATION.into();
        let policy = spec.policy();
        let presence = if policy.key_required {
            Presence::Required
        } else {
            Presence::Optional
        };
        vec![parameter::inline(presence, Some(policy.retention))]
    }
}

impl<T> fmt::Debug for KeyHeader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHeader")
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

/// The refusals of a handler with a key: 400, 409, 422, 500 and 503, each a
/// [`Problem`](crate::Problem). `Refusals<PlaceOrder>` are those of a marker's operation.
pub struct Refusals<T = AnyOperation>(PhantomData<fn() -> T>);

impl IntoResponses for Refusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        responses::of(&PolicyOptions::default(), false)
    }
}

impl<T: DescribeOperation> IntoResponses for Refusals<T> {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        <Refusals>::responses()
    }
}

impl<T> fmt::Debug for Refusals<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Refusals")
    }
}

/// The refusals of a service inside an [`IdempotencyLayer`](crate::IdempotencyLayer): 403 and 413 in
/// addition.
#[derive(Debug, Clone, Copy)]
pub struct LayerRefusals;

impl IntoResponses for LayerRefusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        responses::of(&PolicyOptions::default(), true)
    }
}

/// A modifier for `modifiers(..)` of a document. It turns `Problem` and the header into components, and
/// for each operation with the header marks it (`"x-idempotency": {"key": "required"}`, or `"optional"`), and documents
/// that a success may be a replay.
#[derive(Debug, Clone, Copy)]
pub struct IdempotencyAddon;

impl Modify for IdempotencyAddon {
    fn modify(&self, document: &mut OpenApi) {
        document::edit(document, &PolicyOptions::default());
    }
}

/// Does the same as [`IdempotencyAddon`], and edits the documented refusals of operations with the header
/// by the policy: their statuses, and the header's syntax.
impl Modify for HttpPolicy {
    fn modify(&self, document: &mut OpenApi) {
        document::edit(document, self.options());
    }
}

/// Adds to `operation` the header, its mark `x-idempotency`, the refusals, and for its successes the header that
/// marks a replay. `retention` is the handler's: how long a key is remembered.
///
/// Responses that `operation` already documents stay as they are.
pub fn describe(operation: &mut Operation, presence: Presence, retention: Duration) {
    operation
        .parameters
        .get_or_insert_default()
        .push(parameter::inline(presence, Some(retention)).into());
    extension::add(operation, presence);
    responses::mark_replays(operation);
    for (status, response) in <Refusals>::responses() {
        operation
            .responses
            .responses
            .entry(status)
            .or_insert(response);
    }
}
