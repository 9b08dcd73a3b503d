//! Reads the key of a request, in the caller's scope.

use idem_runtime::{Error, IdempotencyKey, Scope};
use tonic::{Request, Status};

use crate::metadata;
use crate::refusal::Refusal;

/// Reads the key of a [`tonic::Request`].
///
/// The key carries the [`Scope`] in the request's extensions, which your authentication puts there: an interceptor
/// or a `tower` layer. A key without a scope is refused by the call, unless the handler names a scope.
///
/// ```
/// use idem_runtime::{IdempotencyKey, Scope};
/// use idem_tonic::RequestExt as _;
/// use tonic::{Request, Status};
///
/// /// Stands for your authentication.
/// fn authenticate(mut request: Request<()>) -> Result<Request<()>, Status> {
///     let tenant = Scope::new("acme").map_err(|_| Status::unauthenticated("no tenant"))?;
///     request.extensions_mut().insert(tenant);
///     Ok(request)
/// }
///
/// let mut request = Request::new(());
/// request.metadata_mut().insert("idempotency-key", "8e03978e".parse().unwrap());
/// let key: IdempotencyKey = authenticate(request)?.idempotency_key()?;
/// assert_eq!(key.scope(), Some(&Scope::new("acme").unwrap()));
/// # Ok::<_, Status>(())
/// ```
pub trait RequestExt {
    /// Returns the key, which is required.
    ///
    /// # Errors
    /// Returns the status `INVALID_ARGUMENT` if there is none, or if it breaks a rule of [`metadata`].
    fn idempotency_key(&self) -> Result<IdempotencyKey, Status>;

    /// Returns the key, or `None` if none was sent, for a handler with `key_required = false`.
    ///
    /// # Errors
    /// Returns the status `INVALID_ARGUMENT` if it breaks a rule of [`metadata`]: without it the call would not be safe to
    /// retry.
    fn optional_idempotency_key(&self) -> Result<Option<IdempotencyKey>, Status>;
}

impl<T> RequestExt for Request<T> {
    fn idempotency_key(&self) -> Result<IdempotencyKey, Status> {
        self.optional_idempotency_key()?.ok_or_else(|| {
            // The name of the method is not among what tonic hands on.
            let operation = "the method".into();
            Refusal::of(&Error::KeyMissing { operation }).into_status()
        })
    }

    fn optional_idempotency_key(&self) -> Result<Option<IdempotencyKey>, Status> {
        let key = metadata::key(self.metadata())
            .map_err(|invalid| Refusal::of(&invalid.into()).into_status())?;
        Ok(match (key, self.extensions().get::<Scope>()) {
            (Some(key), Some(scope)) => Some(key.scoped(scope.clone())),
            (key, _) => key,
        })
    }
}
