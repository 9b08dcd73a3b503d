//! Refusals as actix's responses and errors.

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};
use idem_runtime::Error;
use idem_runtime::http::Problem;
use idem_tower::ToResponse as _;

use crate::convert;

/// A refusal of the library, as a response: `application/problem+json`, with `Retry-After` and a `Link` to its explanation.
/// The response's extensions hold the problem, by which a [`Policy`](crate::Policy) knows it.
pub trait ToHttpResponse {
    /// Returns the response. The database's message is not in it.
    fn to_http_response(&self) -> HttpResponse;
}

impl ToHttpResponse for Error {
    /// A recorded failure has the header `Idempotent-Replayed: true`.
    fn to_http_response(&self) -> HttpResponse {
        convert::response(self.to_response())
    }
}

impl ToHttpResponse for Problem {
    fn to_http_response(&self) -> HttpResponse {
        convert::response(self.to_response())
    }
}

/// An error of the library as actix's `ResponseError`: actix's trait cannot be implemented for [`Error`] itself.
///
/// The extractors refuse with it. A web handler that calls an idempotent one whose error is [`Error`] returns it by `?`:
///
/// ```
/// use actix_web::{HttpResponse, web};
/// use idem_actix::{Key, Refusal, Replay};
/// use idem_runtime::{Error, IdempotencyKey, idempotent};
/// use sqlx::{SqlitePool, SqliteTransaction};
///
/// #[idempotent(namespace = "orders")]
/// async fn touch(tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey) -> Result<i64, Error> {
///     # let _ = tx;
///     Ok(17)
/// }
///
/// async fn post_touch(pool: web::Data<SqlitePool>, key: Key) -> Result<Replay<HttpResponse>, Refusal> {
///     let touched = touch(pool.get_ref(), &key).await?;
///     Ok(Replay(touched.map(|number| HttpResponse::Ok().json(number))))
/// }
/// # let _ = web::post().to(post_touch);
/// ```
#[derive(Debug)]
pub struct Refusal(pub Error);

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Refusal {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl ResponseError for Refusal {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.0.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        self.0.to_http_response()
    }
}
