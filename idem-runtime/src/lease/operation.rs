//! Lease mode without the attribute: a function over a constant description.

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
    /// Runs `body` under a lease on `key`, detached from the caller: dropped, this call no longer
    /// waits, and the body goes on. Every later call gets the recorded result. See
    /// [`lease`](crate::lease).
    ///
    /// `request` is compared on a retry, and kept in the record. The body owns what it uses.
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
    /// The body's own error, after the key is released; or an [`Error`] of the library's by `From`.
    /// [`Error::LeasePolicy`] if this operation has no lease; [`Error::FailurePolicy`] if it records
    /// failures: that is [`Operation::run_leased_recording`]'s.
    ///
    /// # Panics
    /// As the body does.
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

    /// As [`Operation::run_leased`], and permanent failures are recorded and replayed.
    ///
    /// # Errors
    /// As [`Operation::run_leased`].
    ///
    /// # Panics
    /// As the body does.
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
        let (call, arrival) = leased(db, call, contract);
        run(
            call,
            async move { boxed(body, arrival.attempt().await).await },
        )
        .await
    }
}

/// Begins the body. Apart, because what polls it would have room on its own stack for every copy that is
/// made on the way to the box.
#[inline(never)]
fn boxed<F, Fut>(body: Box<F>, attempt: Attempt) -> Pin<Box<Fut>>
where
    F: FnOnce(Attempt) -> Fut,
{
    Box::pin(body(attempt))
}
