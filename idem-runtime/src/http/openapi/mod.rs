//! The edge in an OpenAPI document, through utoipa 6.
//!
//! Feature `openapi`. In `#[utoipa::path(..)]`, [`KeyHeader`] stands in `params(..)` and
//! [`Refusals`] in `responses(..)`. [`describe`] does both, says how long a key is remembered, and
//! tells clients of the header that marks a replay:
//!
//! ```
//! use std::time::Duration;
//! use idem_runtime::http::openapi::{self, Presence};
//! use utoipa::openapi::path::Operation;
//!
//! let mut operation = Operation::new();
//! openapi::describe(&mut operation, Presence::Required, Duration::from_secs(86_400));
//!
//! let document = serde_json::to_value(&operation)?;
//! assert_eq!(document["parameters"][0]["name"], "Idempotency-Key");
//! assert!(document["responses"]["422"]["content"]["application/problem+json"].is_object());
//! # Ok::<_, serde_json::Error>(())
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{ContentBuilder, RefOr, Required, Response};
use utoipa::{IntoParams, IntoResponses, PartialSchema as _};

use super::problem::Problem;
use crate::key::limits::KEY_MAX;

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
        vec![parameter(Presence::Required, None)]
    }
}

/// The request header, optional.
#[derive(Debug, Clone, Copy)]
pub struct OptionalKeyHeader;

impl IntoParams for OptionalKeyHeader {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![parameter(Presence::Optional, None)]
    }
}

/// What a handler with a key may be refused with: 400, 409, 422 and 503, each a [`Problem`].
#[derive(Debug, Clone, Copy)]
pub struct Refusals;

impl IntoResponses for Refusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        [
            ("400", "The Idempotency-Key is missing, or it or the request is not acceptable.", false),
            ("409", "Another request with this Idempotency-Key is running, or what became of an earlier one is being found out.", true),
            ("422", "The Idempotency-Key was used before, for another request; or that request failed for good.", false),
            ("503", "A passing condition: send the request again with the same Idempotency-Key.", true),
        ]
        .into_iter()
        .map(|(status, description, later)| (status.to_owned(), refusal(description, later).into()))
        .collect()
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
        .push(parameter(presence, Some(retention)).into());
    for (status, response) in &mut operation.responses.responses {
        if let RefOr::T(response) = response
            && status.starts_with('2')
        {
            let header = HeaderBuilder::new()
                .description(Some(
                    "`true` if an earlier request with this Idempotency-Key made this response.",
                ))
                .schema(Some(ObjectBuilder::new().schema_type(Type::Boolean)))
                .build();
            response
                .headers
                .insert("Idempotent-Replayed".to_owned(), header.into());
        }
    }
    for (status, response) in Refusals::responses() {
        operation
            .responses
            .responses
            .entry(status)
            .or_insert(response);
    }
}

fn parameter(presence: Presence, retention: Option<Duration>) -> Parameter {
    let mut description = "A token of the client's for one intended effect, a String of RFC 8941: \
        a retry of the same request sends it again and gets the recorded result."
        .to_owned();
    if let Some(retention) = retention {
        let seconds = retention.as_secs();
        description.push_str(" It is remembered for ");
        description.push_str(&seconds.to_string());
        description.push_str(" seconds.");
    }
    let schema = ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(KEY_MAX));
    ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(match presence {
            Presence::Required => Required::True,
            Presence::Optional => Required::False,
        })
        .description(Some(description))
        .schema(Some(schema))
        .build()
}

fn refusal(description: &str, later: bool) -> Response {
    let content = ContentBuilder::new()
        .schema(Some(Problem::schema()))
        .build();
    let response = ResponseBuilder::new()
        .description(description)
        .content("application/problem+json", content);
    if later {
        let header = HeaderBuilder::new()
            .description(Some("In how many seconds to try again."))
            .schema(Some(ObjectBuilder::new().schema_type(Type::Integer)))
            .build();
        response.header("Retry-After", header).build()
    } else {
        response.build()
    }
}
