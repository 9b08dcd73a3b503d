//! Lease mode without the attribute: methods of a constant [`Operation`].

use std::pin::Pin;

use serde::Serialize;

use super::attempt::Attempt;
use super::run::{leased, run};
use super::source::LeaseSource;
use crate::engine::contract::{Contract, contract, failures, lifts, reads, writes};
use crate::engine::request::Request;
use crate::engine::{HandlerError, RecordRead, RecordWrite};
use crate::error::Error;
use crate::failure::Failure;
use crate::key::KeySource;
use crate::policy::Failures;
use crate::replay::Replayable;
use crate::spec::Operation;

impl Operation {
    /// Runs `body` under a lease on `key`, in its own task: if this call is dropped, the body
    /// continues. Every later call gets the recorded result. See [`lease`](crate::lease).
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
    /// use idem_runtime::{IdempotencyKey, Operation};
    ///
    /// const NOTIFY: Operation =
    ///     Operation::new("mail", "notify").lease(Duration::from_secs(300), OnLapse::Retry);
    ///
    /// let key: IdempotencyKey = "7f3c".parse::<IdempotencyKey>()?.global();
    /// let sent = NOTIFY
    ///     .run_leased(&pool, &key, &"Ada", |attempt| async move {
    ///         let relay_key = attempt.external_key(); // the same on every attempt
    ///         Ok::<_, Box<dyn std::error::Error + Send + Sync>>(relay_key.len())
    ///     })
    ///     .await?;
    /// # let _ = sent; Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - The body's own error, after the key is released, or after the outcome is made unknown by
    ///   [`Attempt::outcome_unknown`].
    /// - Any [`Error`] of the library, converted by `From`.
    /// - [`Error::LeasePolicy`] if the operation has no lease.
    /// - [`Error::FailurePolicy`] if the operation records failures: call
    ///   [`Operation::run_leased_recording`].
    ///
    /// # Panics
    /// Panics if the body panics.
    pub async fn run_leased<K, Q, T, E, F, Fut>(
        &self,
        db: impl LeaseSource,
        key: &K,
        request: &Q,
        body: F,
    ) -> Result<Replayable<T>, E>
    where
        K: KeySource + ?Sized,
        Q: Serialize + ?Sized,
        T: RecordWrite + RecordRead + Send + 'static,
        E: HandlerError + Send + 'static,
        F: FnOnce(Attempt) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
    {
        if self.policy().failures == Failures::Record {
            let operation = self.name().into();
            let refusal = Error::FailurePolicy { operation };
            return Err(E::lift(Request::refused(*self, key, refusal)));
        }
        let contract = contract(writes(), reads(), lifts());
        self.lease_under(db, key, request, Box::new(body), contract)
            .await
    }

    /// Runs `body` as [`Operation::run_leased`] does. A permanent failure is recorded and replayed.
    ///
    /// # Errors
    /// The errors of [`Operation::run_leased`], except [`Error::FailurePolicy`].
    ///
    /// # Panics
    /// Panics if the body panics.
    pub async fn run_leased_recording<K, Q, T, E, F, Fut>(
        &self,
        db: impl LeaseSource,
        key: &K,
        request: &Q,
        body: F,
    ) -> Result<Replayable<T>, E>
    where
        K: KeySource + ?Sized,
        Q: Serialize + ?Sized,
        T: RecordWrite + RecordRead + Send + 'static,
        E: HandlerError + Failure + Send + 'static,
        F: FnOnce(Attempt) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
    {
        let contract = contract(writes(), reads(), lifts()).recording(failures());
        self.lease_under(db, key, request, Box::new(body), contract)
            .await
    }

    async fn lease_under<K, Q, T, E, F, Fut>(
        &self,
        db: impl LeaseSource,
        key: &K,
        request: &Q,
        body: Box<F>,
        contract: Contract<T, E>,
    ) -> Result<Replayable<T>, E>
    where
        K: KeySource + ?Sized,
        Q: Serialize + ?Sized,
        T: Send + 'static,
        E: Send + 'static,
        F: FnOnce(Attempt) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
    {
        let mut call = Request::new(*self);
        call.key(key);
        call.projection(request);
        let (call, attempt_receiver) = leased(db, call, contract);
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
