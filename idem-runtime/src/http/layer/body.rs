//! Bodies, whole or not at all.

use axum_core::body::Body;
use http::response::Parts;
use http::{StatusCode, header};
use http_body::Body as _;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

/// Why a request's body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is longer than the limit.
    TooLong,
    /// The client broke off, or sent what is no body.
    Broken,
}

/// A request's body of at most `limit` bytes.
pub(super) async fn read(body: Body, limit: usize) -> Result<Vec<u8>, Unread> {
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes().to_vec()),
        Err(error) if error.is::<LengthLimitError>() => Err(Unread::TooLong),
        Err(_) => Err(Unread::Broken),
    }
}

/// Why a response cannot be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unstorable {
    /// The connection goes on as something else.
    Upgraded,
    /// Its length is not known beforehand.
    Stream,
    /// It is longer than the limit.
    TooLong,
    /// It is encoded for this client.
    Encoded,
    /// It failed while it was being read.
    Broken,
}

impl Unstorable {
    /// For the client's developer.
    pub(super) fn detail(self) -> &'static str {
        match self {
            Self::Upgraded => {
                "the request was served, and upgraded its connection, which cannot be recorded"
            }
            Self::Stream => {
                "the request was served, and its response is a stream, which cannot be recorded"
            }
            Self::TooLong => {
                "the request was served, and its response is longer than what is recorded"
            }
            Self::Encoded => {
                "the request was served, and its response has a Content-Encoding, which is not recorded"
            }
            Self::Broken => "the request was served, and its response broke off",
        }
    }
}

/// A response's body of at most `limit` bytes, whose length was known before.
pub(super) async fn take(parts: &Parts, body: Body, limit: usize) -> Result<Vec<u8>, Unstorable> {
    if parts.status == StatusCode::SWITCHING_PROTOCOLS {
        return Err(Unstorable::Upgraded);
    }
    if parts.headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Unstorable::Encoded);
    }
    let length = body.size_hint().exact().ok_or(Unstorable::Stream)?;
    if length > limit as u64 {
        return Err(Unstorable::TooLong);
    }
    // What says its length and has more is cut off by nobody: it is an error of its own.
    match Limited::new(body, limit).collect().await {
        Ok(collected) if collected.trailers().is_some() => Err(Unstorable::Stream),
        Ok(collected) => Ok(collected.to_bytes().to_vec()),
        Err(_) => Err(Unstorable::Broken),
    }
}
