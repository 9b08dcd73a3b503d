//! The document of a status resource.

use serde::Serialize;
use serde_json::Value;

use super::status::whole_seconds;
use crate::calls::status::{KeyStatus, State};
use crate::values::error::Error;

/// The answer to the question what has become of a key: a document in JSON, its status and its headers.
///
/// | `state` | status | |
/// |---|---|---|
/// | `running` | 200 | with `Retry-After` |
/// | `done`, `failed` | 200 | a retry of the request gets the result, or the failure |
/// | `unknown` | 200 | an attempt was interrupted; its outcome is to be settled |
/// | `not-known` | 404 | nothing is recorded and nothing runs |
///
/// `result` and `failure` are members only if they were looked up. Every answer is `Cache-Control: no-store`.
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # async fn example(pool: sqlx::SqlitePool, key: idem_runtime::IdempotencyKey)
/// #     -> Result<(), idem_runtime::Error> {
/// use idem_runtime::http::StatusDocument;
/// use idem_runtime::store::RawStore;
/// use idem_runtime::{Namespace, status};
///
/// let orders = RawStore::new(Namespace::from_static("orders"));
/// let document = StatusDocument::of(status::look_up(&pool, &orders, &key).await?)?;
/// // 404 {"state":"not-known"}
/// println!("{} {}", document.status(), String::from_utf8_lossy(&document.to_json()));
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Serialize)]
pub struct StatusDocument {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<Value>,
}

impl std::fmt::Debug for StatusDocument {
    /// Prints neither result nor failure.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatusDocument")
            .field("state", &self.state)
            .field("retry_after", &self.retry_after)
            .finish_non_exhaustive()
    }
}

impl StatusDocument {
    /// The media type of the document.
    pub const MEDIA_TYPE: &str = "application/json";

    /// Returns the document of a key's status.
    ///
    /// # Errors
    /// [`Error::NotStorable`] if the result that was looked up cannot be written as JSON.
    pub fn of<Res: Serialize>(status: KeyStatus<Res>) -> Result<Self, Error> {
        let operation = status.operation.unwrap_or_default();
        let result = status.result.map(|result| json(&operation, &result));
        let failure = status.failure.map(|failure| json(&operation, &failure));
        Ok(Self {
            state: match status.state {
                State::NotKnown => "not-known",
                State::Running => "running",
                State::Done => "done",
                State::Failed => "failed",
                State::Unknown => "unknown",
            },
            retry_after: status.retry_after.map(whole_seconds),
            result: result.transpose()?,
            failure: failure.transpose()?,
        })
    }

    /// Returns the status of the response.
    pub fn status(&self) -> u16 {
        if self.state == "not-known" { 404 } else { 200 }
    }

    /// Returns the headers of the response, their names in lower case.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let always = [
            ("content-type", Self::MEDIA_TYPE.to_owned()),
            // The next answer is another one, and this one is for whoever asked.
            ("cache-control", "no-store".to_owned()),
        ];
        let seconds = self.retry_after;
        always
            .into_iter()
            .chain(seconds.map(|seconds| ("retry-after", seconds.to_string())))
    }

    /// Returns the body of the response.
    pub fn to_json(&self) -> Vec<u8> {
        // Texts, numbers and JSON values can always be serialized.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

fn json(operation: &str, value: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(value).map_err(|error| Error::NotStorable {
        operation: operation.to_owned(),
        type_name: std::any::type_name_of_val(value),
        reason: "it cannot be written as JSON",
        message: error.to_string(),
    })
}
