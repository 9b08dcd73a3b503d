//! What rmcp's client sends, and what it reads of an answer.

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ErrorData, MetaObject, RequestMetaObject,
    RequestParamsMeta as _,
};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::{Value, json};

use crate::server::TENANT;

/// The member of `_meta` with the key.
pub(crate) const KEY: &str = "dev.idem/idempotencyKey";

/// A call of a tool.
pub(crate) struct Asked {
    tool: &'static str,
    arguments: Value,
    meta: Value,
}

/// A call by the tenant `acme`, without a key.
pub(crate) fn call(tool: &'static str, item: &str) -> Asked {
    Asked {
        tool,
        arguments: json!({ "item": item }),
        meta: json!({ TENANT: "acme" }),
    }
}

impl Asked {
    /// With another argument.
    pub(crate) fn argument(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.arguments[name] = value.into();
        self
    }

    /// With another member of `_meta`.
    pub(crate) fn meta(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.meta[name] = value.into();
        self
    }

    /// With the key as an argument.
    pub(crate) fn keyed(self, key: &str) -> Self {
        self.argument("idempotency_key", key)
    }

    /// With the key in `_meta`.
    pub(crate) fn hosted(self, key: &str) -> Self {
        self.meta(KEY, key)
    }

    /// Sends it.
    pub(crate) async fn send(self, client: &Peer<RoleClient>) -> Result<CallToolResult, ErrorData> {
        let object = |value: Value| value.as_object().expect("an object").clone();
        let arguments = object(self.arguments);
        let mut params = CallToolRequestParams::new(self.tool).with_arguments(arguments);
        params.set_meta(RequestMetaObject(MetaObject(object(self.meta))));
        match client.call_tool(params).await {
            Ok(result) => Ok(result),
            Err(ServiceError::McpError(error)) => Err(error),
            Err(other) => panic!("no answer: {other}"),
        }
    }
}

/// Whether a result is marked as a replay.
pub(crate) fn is_replay(result: &CallToolResult) -> bool {
    let marked = result.meta.as_ref();
    let marked = marked.and_then(|meta| meta.get("dev.idem/idempotentReplayed"));
    assert!(marked.is_none_or(|value| *value == json!(true)));
    marked.is_some()
}

/// The structured content of a success.
pub(crate) fn content(result: &CallToolResult) -> &Value {
    assert_eq!(result.is_error, Some(false), "{result:?}");
    result.structured_content.as_ref().expect("structured")
}

/// The problem of a tool error, which the text of the content repeats.
pub(crate) fn problem(result: &CallToolResult) -> Value {
    assert_eq!(result.is_error, Some(true), "{result:?}");
    let text = &result.content[0].as_text().expect("text").text;
    let problem: Value = serde_json::from_str(text).expect("JSON");
    if let Some(structured) = &result.structured_content {
        assert_eq!(*structured, problem);
    }
    problem
}

/// The code of a protocol error, and that of its problem.
pub(crate) fn protocol(error: &ErrorData) -> (i32, String) {
    let problem = error.data.as_ref().expect("a problem");
    assert_eq!(problem["detail"], *error.message);
    let code = problem["code"].as_str().expect("a code");
    (error.code.0, code.to_owned())
}
