//! Reads whole bodies, within limits.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use http::response::Parts;
use http::{HeaderMap, HeaderName, StatusCode, header};
use http_body::Body;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tokio::time::timeout;

use crate::body::Buffered;

/// Any error of a body.
pub(super) type BoxError = Box<dyn Error + Send + Sync>;

/// Why a request's body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// The body is longer than the layer's limit.
    TooLong,
    /// The body is longer than the limit of an outer layer.
    TooLongFurtherOut,
    /// The client disconnected, or sent an invalid body.
    Broken,
}

/// Reads a request's body of at most `limit` bytes.
pub(super) async fn read<B>(body: B, limit: usize) -> Result<Bytes, Unread>
where
    B: Body<Data = Bytes, Error: Into<BoxError>>,
{
    // A body whose declared length exceeds the limit is not read.
    if body.size_hint().lower() > limit as u64 {
        return Err(Unread::TooLong);
    }
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Unread::TooLong),
        Err(error) if is_length_limit(&*error) => Err(Unread::TooLongFurtherOut),
        Err(_) => Err(Unread::Broken),
    }
}

/// Returns whether the error means that a length limit was exceeded. Each layer around the body wraps the
/// error again.
fn is_length_limit(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<LengthLimitError>() {
            return true;
        }
        next = error.source();
    }
    false
}

/// Why a response cannot be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unstorable {
    /// The connection was upgraded.
    Upgraded,
    /// The body did not end in time.
    Endless,
    /// The body is longer than the limit.
    TooLong,
    /// The headers are longer than the limit.
    HeadersTooLong,
    /// The body is encoded for this client.
    Encoded,
    /// The body failed while it was read, or differs from its declared length.
    Broken,
}

impl Unstorable {
    /// Returns the reason, for the client's developer.
    pub(super) fn detail(self) -> &'static str {
        match self {
            Self::Upgraded => {
                "the request was served, and upgraded its connection, which cannot be recorded"
            }
            Self::Endless => {
                "the request was served, and its response did not end in the time in which it must be recorded"
            }
            Self::TooLong => {
                "the request was served, and its response is longer than what is recorded"
            }
            Self::HeadersTooLong => {
                "the request was served, and its response's headers are longer than what is recorded"
            }
            Self::Encoded => {
                "the request was served, and its response is compressed or encoded in another way, which is not recorded"
            }
            Self::Broken => "the request was served, and its response broke off",
        }
    }
}

/// The limits for the body of a recorded response.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResponseLimits {
    /// The maximum length in bytes.
    pub(super) length: usize,
    /// The maximum time for reading all of it.
    pub(super) time: Duration,
}

/// Reads a response's body to its end, even if its length is not declared.
pub(super) async fn read_whole<B>(
    parts: &Parts,
    body: B,
    coding: &HeaderName,
    is_head: bool,
    limits: ResponseLimits,
) -> Result<Whole, Unstorable>
where
    B: Body<Data = Bytes, Error: Into<BoxError>>,
{
    if parts.status == StatusCode::SWITCHING_PROTOCOLS {
        return Err(Unstorable::Upgraded);
    }
    let mut codings = parts.headers.get_all(coding).iter();
    if codings.any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(Unstorable::Encoded);
    }
    // The response to a HEAD, and a 304, declare the length of a body that they do not have.
    let has_body = !is_head && parts.status != StatusCode::NOT_MODIFIED;
    let declared = parts
        .headers
        .get(header::CONTENT_LENGTH)
        .filter(|_| has_body);
    let declared = declared
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.parse::<u64>().ok())
        // A server writes the header of it later.
        .or_else(|| body.size_hint().exact().filter(|_| has_body));
    if declared.unwrap_or(0).max(body.size_hint().lower()) > limits.length as u64 {
        return Err(Unstorable::TooLong);
    }
    let read = timeout(limits.time, Limited::new(body, limits.length).collect()).await;
    let collected = match read {
        Ok(Ok(collected)) => collected,
        Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(Unstorable::TooLong),
        Ok(Err(_)) => return Err(Unstorable::Broken),
        Err(_) => return Err(Unstorable::Endless),
    };
    let trailers = collected.trailers().cloned();
    let data = collected.to_bytes();
    if declared.is_some_and(|declared| declared != data.len() as u64) {
        return Err(Unstorable::Broken);
    }
    Ok(Whole { data, trailers })
}

/// A body that has been read to its end.
#[derive(Debug, Clone)]
pub(super) struct Whole {
    pub(super) data: Bytes,
    pub(super) trailers: Option<HeaderMap>,
}

impl Whole {
    pub(super) fn into_body(self) -> Buffered {
        Buffered::with_trailers(self.data, self.trailers)
    }
}
