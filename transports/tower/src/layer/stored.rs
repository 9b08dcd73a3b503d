//! The recorded form of a response.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use http::response::Parts;
use http::{Response, StatusCode};
use idem_runtime::http::Problem;
use serde::{Deserialize, Serialize};

use super::body::{Unstorable, Whole};
use super::media_type::latin_1;
use super::recorded::{RecordedHeaders, StoredField};
use crate::body::Buffered;

/// Status, headers, the whole body, and trailers.
#[derive(Serialize, Deserialize)]
pub(super) struct Stored {
    status: u16,
    headers: Vec<StoredField>,
    body: StoredBody,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trailers: Option<Vec<StoredField>>,
    /// The data by which an outer policy edits a refusal: it edits the replay too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

/// Text is stored as text, so that people can read the record.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredBody {
    Text(String),
    Base64(String),
}

impl Stored {
    /// Returns the recorded form of a response that was read to its end.
    pub(super) fn of(
        parts: &Parts,
        whole: &Whole,
        is_head: bool,
        recorded: &RecordedHeaders,
    ) -> Result<Self, Unstorable> {
        let fields = |headers| recorded.of(headers).ok_or(Unstorable::HeadersTooLong);
        let mut headers = fields(&parts.headers)?;
        if is_head && let Some(length) = parts.headers.get(CONTENT_LENGTH) {
            // In the record the length does not describe the connection: it is all that is known of a body.
            headers.push((
                CONTENT_LENGTH.as_str().to_owned(),
                latin_1(length.as_bytes()),
            ));
        }
        Ok(Self {
            status: parts.status.as_u16(),
            headers,
            body: match std::str::from_utf8(&whole.data) {
                Ok(text) => StoredBody::Text(text.to_owned()),
                Err(_) => StoredBody::Base64(BASE64_STANDARD.encode(&whole.data)),
            },
            trailers: whole.trailers.as_ref().map(fields).transpose()?,
            problem: parts.extensions.get().cloned(),
        })
    }

    /// Returns the recorded response.
    pub(super) fn into_response(self) -> Response<Buffered> {
        self.restore().unwrap_or_else(|| {
            let mut response = Response::new(Buffered::default());
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            response
        })
    }

    /// Rebuilds the response. Returns `None` if the record is not a valid response.
    fn restore(self) -> Option<Response<Buffered>> {
        let data = match self.body {
            StoredBody::Text(text) => Bytes::from(text),
            StoredBody::Base64(text) => Bytes::from(BASE64_STANDARD.decode(text).ok()?),
        };
        let trailers = match self.trailers {
            Some(trailers) => Some(map(trailers)?),
            None => None,
        };
        let mut response = Response::new(Whole { data, trailers }.into_body());
        *response.status_mut() = StatusCode::from_u16(self.status).ok()?;
        *response.headers_mut() = map(self.headers)?;
        if let Some(problem) = self.problem {
            response.extensions_mut().insert(problem);
        }
        Some(response)
    }
}

/// Converts the fields to headers.
fn map(fields: Vec<StoredField>) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let bytes: Result<Vec<u8>, _> = value.chars().map(u8::try_from).collect();
        headers.append(
            HeaderName::from_bytes(name.as_bytes()).ok()?,
            HeaderValue::from_bytes(&bytes.ok()?).ok()?,
        );
    }
    Some(headers)
}
