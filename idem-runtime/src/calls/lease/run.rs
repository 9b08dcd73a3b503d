//! Lease mode without the attribute: the methods of a constant [`LeasedOperation`].

use std::pin::Pin;

use serde::Serialize;

use super::attempt::Attempt;
use super::flow::{leased, run};
use super::request::LeasedRequest;
use super::source::LeaseSource;
use crate::calls::kit::contract::{contract, lifts, reads, writes};
use crate::calls::kit::{FailureMode, HandlerError, RecordRead, RecordWrite};
use crate::values::key::KeySource;
use crate::values::operation::LeasedOperation;
use crate::values::replay::Replayable;

impl<M> LeasedOperation<M> {
    /// Runs `body` under a lease on `key`, in a task of its own. If the returned future is dropped,
    /// the body continues. Every later call gets the recorded result. See
    /// [`lease`](crate::calls::lease).
    ///
    /// `request` is compared on a retry and stored in the record. The body must own the values that
    /// it uses.
    ///
    /// ```
    /// # #[cfg(feature = "sqlite")]
    /// # async fn example(pool: sqlx::SqlitePool) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// use std::time::Duration;
    ///
    /// use idem_runtime::policy::OnLapse;
    /// use idem_runtime::{IdempotencyKey, LeasedOperation, Operation};
    ///
    /// const NOTIFY: LeasedOperation =
    ///     Operation::new("mail", "notify").lease(Duration::from_secs(300), OnLapse::Retry);
    ///
    /// let key: IdempotencyKey = "7f3c".parse::<IdempotencyKey>()?.global();
    /// let sent = NOTIFY
    ///     .run(&pool, &key, &"Ada", |attempt| async move {
    ///         let relay_key = attempt.external_key(); // the same on every attempt
    ///         Ok::<_, Box<dyn std::error::Error + Send + Sync>>(relay_key.len())
    ///     })
    ///     .await?;
    /// # let _ = sent; Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - The body's own error, after the key is released, or under
    ///   [`RecordFailures`](crate::values::policy::RecordFailures) after the failure is recorded.
    /// - An [`Error`](crate::Error) of the library, converted by `From`.
    ///
    /// # Panics
    /// Panics if the body panics.
    pub async fn run<K, Q, T, E, F, Fut>(
        &self,
        db: impl LeaseSource,
        key: &K,
        request: &Q,
        body: F,
    ) -> Result<Replayable<T>, E>
    where
        M: FailureMode<E>,
        K: KeySource + ?Sized,
        Q: Serialize + ?Sized,
        T: RecordWrite + RecordRead + Send + 'static,
        E: HandlerError + Send + 'static,
        F: FnOnce(Attempt) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
    {
        let contract = M::contract(contract(writes(), reads(), lifts()));
        let mut call = LeasedRequest::new(*self);
        call.key(key);
        call.projection(request);
        let (call, attempt_receiver) = leased(db, call, contract);
        let body = Box::new(body);
        run(call, async move {
            boxed(body, attempt_receiver.attempt().await).await
        })
        .await
    }
}

/// Creates the body's future on the heap. A separate function, because otherwise the future that
/// polls it would reserve stack space for each copy made on the way to the box.
#[inline(never)]
fn boxed<F, Fut>(body: Box<F>, attempt: Attempt) -> Pin<Box<Fut>>
where
    F: FnOnce(Attempt) -> Fut,
{
    Box::pin(body(attempt))
}
