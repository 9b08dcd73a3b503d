//! Reading an answer to its end.

use http::Response;
use http_body::Body;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use crate::attempts::Outcome;
use crate::error::{BoxError, ClientError};
use crate::key::Key;

/// Reads a response to its end: one that breaks off is no answer.
pub(crate) async fn read<B>(response: Response<B>, limit: usize, key: &Key) -> Outcome
where
    B: Body<Error: Into<BoxError>>,
{
    let (parts, body) = response.into_parts();
    match Limited::new(body, limit).collect().await {
        Ok(body) => Outcome::Response(Response::from_parts(parts, body.to_bytes())),
        Err(error) if error.is::<LengthLimitError>() => {
            let key = key.clone();
            Outcome::Stopped(ClientError::AnswerTooLong { key, limit })
        }
        Err(error) => Outcome::Lost(error),
    }
}
