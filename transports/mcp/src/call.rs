//! The call of a tool: its key, and its answers.

use std::sync::Arc;

use idem_runtime::meta::MetaNames;
use idem_runtime::{Error, IdempotencyKey, Replayable};
use rmcp::handler::server::common::FromContextPart;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{CallToolResult, ErrorData, MetaObject};
use serde::Serialize;

use crate::refusal::{self, Holder};

/// A call of a tool that [`Tools`](crate::Tools) registered: its key, and how it is answered.
///
/// It is an extractor of tools. A tool that is not registered with `Tools` gets a protocol error in its place.
#[derive(Debug, Clone)]
pub struct Call {
    pub(crate) key: Option<IdempotencyKey>,
    pub(crate) holder: Holder,
    pub(crate) names: Arc<MetaNames>,
    pub(crate) has_output_schema: bool,
}

impl Call {
    /// Returns the key, for a handler that requires one. A call without one has been refused before.
    ///
    /// # Errors
    /// A protocol error if the handler makes its key of the request, or does not require one.
    pub fn key(&self) -> Result<&IdempotencyKey, ErrorData> {
        self.key.as_ref().ok_or_else(|| {
            let fault = "the tool reads a key that its handler makes itself, or does not require";
            ErrorData::internal_error(fault, None)
        })
    }

    /// Returns the key, or `None` if none was sent, for a handler with `key_required = false`.
    pub fn optional_key(&self) -> Option<IdempotencyKey> {
        self.key.clone()
    }

    /// Returns the result of a call, as structured content and as text. The `_meta` of a replay has the member
    /// [`MetaNames::replayed`].
    ///
    /// # Errors
    /// A protocol error if the value has no JSON.
    pub fn answer<T: Serialize>(&self, value: Replayable<T>) -> Result<CallToolResult, ErrorData> {
        match serde_json::to_value(&*value) {
            Ok(json) => Ok(self.result(value.map(|_| CallToolResult::structured(json)))),
            Err(_) => Err(ErrorData::internal_error("the result has no JSON", None)),
        }
    }

    /// Returns a result that was made elsewhere, such as the tool error of a failure that a call with
    /// [`replayable`](idem_runtime::ReplayExt::replayable) returned. The `_meta` of a replay has the member
    /// [`MetaNames::replayed`], and that of another result has none, even if the handler put one there.
    pub fn result(&self, result: Replayable<CallToolResult>) -> CallToolResult {
        if result.replayed() {
            self.marked(result.into_inner())
        } else {
            self.unmarked(result.into_inner())
        }
    }

    /// Returns the answer to a call that the library refused: a tool error with the
    /// [`Problem`](idem_runtime::http::Problem) as structured content, for the model, or a protocol error with the problem as
    /// `data`, for the host.
    ///
    /// The refusal goes to whoever can act on it. If the key is an argument, or made of the arguments, the model can repeat
    /// the call and gets a tool error. If the key came in `_meta`, the host alone can repeat the call under it. A
    /// model that was asked to would make a new call, under a new key: therefore the host gets a protocol error. Its code is
    /// the problem's status, 409 or 503, if the same call may be sent again, after `data.retry_after` seconds. A recorded
    /// failure and an unknown outcome are tool errors in any case: a model must know them. A fault of the server is a
    /// protocol error in any case.
    ///
    /// If the tool has an output schema, a tool error has no structured content, but the problem as text: some clients hold
    /// even an error's content against the schema.
    ///
    /// # Errors
    /// The protocol error.
    pub fn refuse(&self, error: &Error) -> Result<CallToolResult, ErrorData> {
        let result = refusal::answer(error, self.holder, &self.names, self.has_output_schema)?;
        Ok(match error {
            Error::RecordedFailure(_) => self.marked(result),
            _ => result,
        })
    }

    /// Returns the answer to a call whose handler's own error may pass, such as one of the database that
    /// [`is_transient`](idem_runtime::error::is_transient) knows: [`Problem::try_again`](idem_runtime::http::Problem::try_again),
    /// to whoever can repeat the call, as [`refuse`](Self::refuse) says.
    ///
    /// # Errors
    /// The protocol error.
    pub fn try_again(&self) -> Result<CallToolResult, ErrorData> {
        refusal::try_again(self.holder, self.has_output_schema)
    }

    fn unmarked(&self, mut result: CallToolResult) -> CallToolResult {
        if let Some(meta) = &mut result.meta {
            meta.remove(self.names.replayed());
        }
        result
    }

    fn marked(&self, mut result: CallToolResult) -> CallToolResult {
        let meta = result.meta.get_or_insert_with(MetaObject::new);
        meta.insert(self.names.replayed().to_owned(), true.into());
        result
    }
}

impl<S> FromContextPart<ToolCallContext<'_, S>> for Call {
    fn from_context_part(context: &mut ToolCallContext<'_, S>) -> Result<Self, ErrorData> {
        let call = context.request_context.extensions.get::<Self>().cloned();
        call.ok_or_else(|| {
            ErrorData::internal_error("the tool is not registered with `idem_mcp::Tools`", None)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_replay_says_that_it_is_one() {
        let call = Call {
            key: None,
            holder: Holder::Model,
            names: Arc::default(),
            has_output_schema: false,
        };
        let replay = call.marked(CallToolResult::success(Vec::new()));
        let says = |result: &CallToolResult| {
            let meta = result.meta.as_ref();
            meta.is_some_and(|meta| meta.contains_key(call.names.replayed()))
        };
        assert!(says(&replay));
        assert!(!says(&call.unmarked(replay.clone())));
    }
}
