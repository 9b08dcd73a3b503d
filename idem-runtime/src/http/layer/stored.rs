//! A response as it is recorded.

use std::collections::HashSet;

use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{StatusCode, response};
use serde::{Deserialize, Serialize};

use super::body::{self, Unstorable};

/// Status, some headers, and the whole body.
#[derive(Serialize, Deserialize)]
pub(super) struct Stored {
    status: u16,
    /// Values byte by byte, each byte as the character of its number: what is text in a header reads
    /// as that text.
    headers: Vec<(String, String)>,
    body: StoredBody,
}

/// Text as it is, for those who read records.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredBody {
    Text(String),
    Base64(String),
}

impl Stored {
    /// Takes a response apart: those headers that `kept` names are for the record, and the others,
    /// which the first answer has besides, are returned beside it.
    pub(super) async fn of(
        response: Response,
        kept: &HashSet<HeaderName>,
        limit: usize,
    ) -> Result<(Self, HeaderMap), Unstorable> {
        let (parts, body) = response.into_parts();
        let body = body::take(&parts, body, limit).await?;
        let response::Parts {
            status,
            headers: all,
            ..
        } = parts;
        let mut headers = Vec::new();
        let mut others = HeaderMap::new();
        for (name, value) in &all {
            if kept.contains(name) {
                let value = value.as_bytes().iter().map(|&byte| char::from(byte));
                headers.push((name.as_str().to_owned(), value.collect()));
            } else {
                others.append(name, value.clone());
            }
        }
        let body = match String::from_utf8(body) {
            Ok(text) => StoredBody::Text(text),
            Err(bytes) => StoredBody::Base64(BASE64_STANDARD.encode(bytes.as_bytes())),
        };
        let stored = Self {
            status: status.as_u16(),
            headers,
            body,
        };
        Ok((stored, others))
    }

    /// The response again; `None` if the record holds what no response can.
    fn restore(self) -> Option<Response> {
        let body = match self.body {
            StoredBody::Text(text) => Body::from(text),
            StoredBody::Base64(text) => Body::from(BASE64_STANDARD.decode(text).ok()?),
        };
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(self.status).ok()?;
        let headers = response.headers_mut();
        for (name, value) in self.headers {
            let bytes: Option<Vec<u8>> = value
                .chars()
                .map(|character| u8::try_from(u32::from(character)).ok())
                .collect();
            headers.append(
                HeaderName::from_bytes(name.as_bytes()).ok()?,
                HeaderValue::from_bytes(&bytes?).ok()?,
            );
        }
        Some(response)
    }
}

impl IntoResponse for Stored {
    fn into_response(self) -> Response {
        self.restore()
            .unwrap_or_else(|| StatusCode::INTERNAL_SERVER_ERROR.into_response())
    }
}
