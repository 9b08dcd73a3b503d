//! The layer for frameworks whose services are not tower's.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use idem_runtime::IdempotencyKey;
use idem_runtime::store::LeaseBackend;

use super::body::BoxError;
use super::flow::{key_of, serve};
use super::{Protocol, ReplayLayer};
use crate::body::{Buffered, MaybeBuffered};

impl<DB: LeaseBackend, P: Protocol> ReplayLayer<DB, P> {
    /// Returns the key under which the layer [answers](Self::answer) a request, or `None` if the request passes through: its method
    /// requires no key, or it has none where the key is optional. For the edge of a framework without tower's services.
    ///
    /// # Errors
    /// Returns the refusal of a request whose key is missing or not acceptable, as a response.
    pub fn key(&self, request: &Parts) -> Result<Option<IdempotencyKey>, Box<Response<Buffered>>> {
        key_of(&self.0, request)
    }

    /// Answers a request under its [key](Self::key) as the layer does. For the edge of a framework without tower's services.
    ///
    /// `inner` is the service. It is called once the key is claimed, in a task of its own that goes on if the returned future is
    /// dropped; for a replay or a refusal it is not called. The body of the request need not be `Send`: it is read before that.
    ///
    /// ```
    /// use std::convert::Infallible;
    ///
    /// use http::{Request, Response};
    /// use idem_tower::{Buffered, IdempotencyLayer, MaybeBuffered};
    ///
    /// async fn charge(_: Request<Buffered>) -> Result<Response<Buffered>, Infallible> {
    ///     Ok(Response::new("charged".into()))
    /// }
    ///
    /// async fn serve(layer: &IdempotencyLayer<sqlx::Sqlite>, request: Request<Buffered>) -> Response<MaybeBuffered<Buffered>> {
    ///     let (parts, body) = request.into_parts();
    ///     let answered = match layer.key(&parts) {
    ///         Ok(Some(key)) => layer.answer(key, Request::from_parts(parts, body), charge).await,
    ///         Ok(None) => charge(Request::from_parts(parts, body)).await.map(|response| response.map(MaybeBuffered::from)),
    ///         Err(refusal) => return refusal.map(MaybeBuffered::from),
    ///     };
    ///     answered.unwrap_or_else(|never| match never {})
    /// }
    /// # let _ = serve;
    /// ```
    ///
    /// # Errors
    /// Returns the error of `inner`, after which the key is released or its outcome unknown, [as the operation
    /// says](super#responses-that-leave-the-outcome-open).
    ///
    /// # Panics
    /// Panics if `inner` panics.
    pub async fn answer<B, F, R, E>(
        &self,
        key: IdempotencyKey,
        request: Request<B>,
        inner: impl FnOnce(Request<Buffered>) -> F + Send + 'static,
    ) -> Result<Response<MaybeBuffered<R>>, E>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>>,
        F: Future<Output = Result<Response<R>, E>> + Send + 'static,
        R: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
        E: Send + 'static,
    {
        let (parts, body) = request.into_parts();
        serve(Arc::clone(&self.0), key, parts, body, inner).await
    }
}
