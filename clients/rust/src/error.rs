//! Why a request has no answer.

use std::error::Error;

use crate::key::{Key, KeyError};

/// An error of the client below.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Why a request with a key has no answer. The middleware returns it as [`reqwest_middleware::Error::Middleware`], where
/// [`of`](Self::of) finds it; the layer returns it as a boxed error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The key cannot be used. Nothing was sent.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The request's body is a stream, which can be sent only once: after a lost answer there would be nothing to send again
    /// under the key. Nothing was sent.
    #[error(
        "the body of the request is a stream, which cannot be sent again under its key; nothing was sent; give the body as \
         bytes, or omit the key (KeyChoice::Omit)"
    )]
    StreamingBody,
    /// The request is none that can be sent, such as one to an address without a host. Nothing was sent.
    #[error("the request cannot be sent: {source}; nothing was sent; correct it")]
    Unsendable {
        /// What is wrong with it.
        source: BoxError,
    },
    /// No attempt got an answer. The effect may have happened: a later request with the same key is safe, one with another is
    /// not.
    #[error(
        "no answer after {attempts} attempts: {source}; the outcome is unknown; try again only with the same key"
    )]
    Unanswered {
        /// The key of the request.
        key: Key,
        /// How often it was sent.
        attempts: u32,
        /// The error of the last attempt.
        source: BoxError,
    },
    /// A redirect was not followed, because the key would have gone to another origin, or because there were more than 10. The
    /// outcome is unknown.
    #[error(
        "a redirect was not followed: {reason}; the outcome is unknown; correct the address, and send the request with the \
         same key"
    )]
    Redirect {
        /// The key of the request.
        key: Key,
        /// Where it would have led, or how many there were.
        reason: String,
    },
    /// The answer's body is longer than the policy's limit. The effect may have happened.
    #[error(
        "the body of the answer is longer than {limit} bytes; the outcome is unknown; raise the policy's answer_limit, and \
         send the request with the same key"
    )]
    AnswerTooLong {
        /// The key of the request.
        key: Key,
        /// The limit in bytes.
        limit: usize,
    },
}

impl ClientError {
    /// Returns the key with which a later request gets the outcome, or `None` if nothing was sent.
    pub fn key(&self) -> Option<&Key> {
        match self {
            Self::Key(_) | Self::StreamingBody | Self::Unsendable { .. } => None,
            Self::Unanswered { key, .. }
            | Self::Redirect { key, .. }
            | Self::AnswerTooLong { key, .. } => Some(key),
        }
    }

    /// Finds it in an error of reqwest-middleware.
    #[cfg(feature = "reqwest")]
    pub fn of(error: &reqwest_middleware::Error) -> Option<&Self> {
        match error {
            reqwest_middleware::Error::Middleware(error) => error.downcast_ref(),
            reqwest_middleware::Error::Reqwest(_) => None,
        }
    }
}
