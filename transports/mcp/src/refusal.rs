//! Who gets a refusal: the model, as a tool error, or the host, as a protocol error.

use std::borrow::Cow;

use idem_runtime::Error;
use idem_runtime::error::{ErrorKind, Field};
use idem_runtime::http::Problem;
use idem_runtime::meta::MetaNames;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, ErrorData};
use serde_json::Value;

/// The argument of a tool that holds a key.
pub const ARGUMENT: &str = "idempotency_key";

/// Who has the key of a call, and can therefore repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    /// The model: the key is an argument, or made of the arguments.
    Model,
    /// The host: the key is in `_meta`, which no model writes.
    Host,
}

/// Returns the answer to a call that was refused with `error`.
///
/// A tool error has the problem as text, and as structured content unless `has_output_schema`: some clients hold even an
/// error's content against that schema.
pub(crate) fn answer(
    error: &Error,
    holder: Holder,
    names: &MetaNames,
    has_output_schema: bool,
) -> Result<CallToolResult, ErrorData> {
    let mut problem = Problem::of(error);
    if matches!(error, Error::KeyMissing { .. }) {
        problem.detail = missing(holder, names);
    }
    let code = protocol_code(error, holder, problem.status);
    given(problem, code, has_output_schema)
}

/// Returns the answer to a call whose handler's own error may pass: to whoever can repeat the call.
pub(crate) fn try_again(
    holder: Holder,
    has_output_schema: bool,
) -> Result<CallToolResult, ErrorData> {
    let problem = Problem::try_again();
    let code = ErrorCode(problem.status.into());
    let code = (holder == Holder::Host).then_some(code);
    given(problem, code, has_output_schema)
}

fn given(
    problem: Problem,
    code: Option<ErrorCode>,
    has_output_schema: bool,
) -> Result<CallToolResult, ErrorData> {
    // Strings and numbers can always be serialized.
    let value = serde_json::to_value(&problem).unwrap_or_default();
    match code {
        Some(code) => Err(ErrorData::new(code, problem.detail, Some(value))),
        None => Ok(tool_error(value, has_output_schema)),
    }
}

fn tool_error(problem: Value, has_output_schema: bool) -> CallToolResult {
    if has_output_schema {
        CallToolResult::error(vec![ContentBlock::text(problem.to_string())])
    } else {
        CallToolResult::structured_error(problem)
    }
}

/// Returns the code of a protocol error, or `None` if the model gets a tool error.
///
/// By MCP, a tool error is what a model can act on, and a protocol error what it cannot. A model that is asked to repeat a
/// call whose key the host has would make a new call, under a new key: a second effect.
///
/// Where the host is to send the very same call again, the code is the problem's status, 409 or 503: MCP asks applications
/// to stay out of the range that JSON-RPC reserves.
fn protocol_code(error: &Error, holder: Holder, status: u16) -> Option<ErrorCode> {
    let is_of_the_key = match error {
        Error::Invalid(invalid) => matches!(
            invalid.field(),
            Field::Key | Field::Scope | Field::Member(_)
        ),
        _ => true,
    };
    match error.kind() {
        // The fault of an argument; an answer that is final; what nobody may repeat.
        ErrorKind::Invalid if !is_of_the_key => None,
        ErrorKind::RecordedFailure | ErrorKind::OutcomeUnknown => None,
        ErrorKind::Invalid | ErrorKind::Mismatch => {
            (holder == Holder::Host).then_some(ErrorCode::INVALID_PARAMS)
        }
        _ if error.is_retryable() => (holder == Holder::Host).then_some(ErrorCode(status.into())),
        _ => Some(ErrorCode::INTERNAL_ERROR),
    }
}

fn missing(holder: Holder, names: &MetaNames) -> String {
    let name: Cow<'_, str> = match holder {
        Holder::Model => {
            return format!(
                "the tool needs the argument `{ARGUMENT}`, and the call has none: choose a new random text for each \
                 intended effect, and repeat it whenever the call is repeated"
            );
        }
        Holder::Host => names.idempotency_key().into(),
    };
    format!(
        "the tool needs a key in `_meta[\"{name}\"]`, which the host sends and repeats, and the call has none"
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use idem_runtime::error::{Invalid, Reason};
    use idem_runtime::{IdempotencyKey, StoredFailure};

    use super::*;

    fn codes(error: &Error) -> [Option<i32>; 2] {
        [Holder::Model, Holder::Host].map(|holder| {
            let answer = answer(error, holder, &MetaNames::default(), false);
            match answer {
                Ok(result) => {
                    assert_eq!(result.is_error, Some(true));
                    let problem = result.structured_content.expect("a problem");
                    assert!(problem["code"].is_string() && problem["detail"].is_string());
                    None
                }
                Err(error) => {
                    let problem = error.data.expect("a problem");
                    assert!(problem["code"].is_string());
                    Some(error.code.0)
                }
            }
        })
    }

    #[test]
    fn a_refusal_goes_to_whoever_can_act_on_it() {
        let second = Duration::from_secs(1);
        let long = "k".repeat(256).parse::<IdempotencyKey>();
        let argument = Invalid::new(Field::Parameter("order".into()), Reason::NotFinite);
        let failure = Box::new(StoredFailure::new("SoldOut", "no tea"));
        let operation = || "ship".to_owned();
        let rows = [
            (
                Error::InFlight {
                    retry_after: second,
                    key: None,
                },
                None,
                Some(409),
            ),
            (Error::LeaseLost, None, Some(503)),
            (
                Error::KeyMissing {
                    operation: "ship".into(),
                },
                None,
                Some(-32602),
            ),
            (long.expect_err("too long"), None, Some(-32602)),
            (argument.into(), None, None),
            (Error::RecordedFailure(failure), None, None),
            (
                Error::OutcomeUnknown {
                    operation: operation(),
                    attempt_id: uuid::Uuid::nil(),
                    attempt: 1,
                },
                None,
                None,
            ),
            (Error::NestedSameKey, Some(-32603), Some(-32603)),
            (
                Error::ScopeMissing {
                    operation: "ship".into(),
                },
                Some(-32603),
                Some(-32603),
            ),
        ];
        for (error, model, host) in rows {
            assert_eq!(codes(&error), [model, host], "{error}");
        }
    }

    #[test]
    fn what_passes_is_answered_to_whoever_can_repeat_the_call() {
        let model = try_again(Holder::Model, false).expect("a tool error");
        let problem = model.structured_content.expect("a problem");
        assert_eq!(
            (&problem["code"], &problem["retry_after"]),
            (&"try-again".into(), &1.into())
        );
        let host = try_again(Holder::Host, false).expect_err("a protocol error");
        assert_eq!(host.code.0, 503);
    }

    #[test]
    fn a_missing_key_is_asked_for_where_it_is_read() {
        let error = Error::KeyMissing {
            operation: "ship".into(),
        };
        let names = MetaNames::of("com.example");
        let model = answer(&error, Holder::Model, &names, true).expect("a tool error");
        assert_eq!(model.structured_content, None);
        let text = serde_json::to_string(&model.content).expect("JSON");
        assert!(text.contains("`idempotency_key`"), "{text}");
        let host = answer(&error, Holder::Host, &names, true).expect_err("a protocol error");
        assert!(
            host.message.contains("com.example/idempotencyKey"),
            "{host}"
        );
    }
}
