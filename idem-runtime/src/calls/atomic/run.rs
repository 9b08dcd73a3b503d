//! Atomic mode without the attribute: the methods of a constant [`Operation`].

use std::pin::pin;

use serde::Serialize;
use sqlx::Transaction;

use super::flow::{Step, body as in_span, claim, finish, settle, tx};
use super::source::Begin;
use super::unit::unit;
use crate::calls::kit::contract::{contract, lifts, reads, writes};
use crate::calls::kit::request::Request;
use crate::calls::kit::review;
use crate::calls::kit::{FailureMode, HandlerError, RecordRead, RecordWrite};
use crate::stores::Backend;
use crate::values::key::KeySource;
use crate::values::operation::Operation;
use crate::values::replay::Replayable;

impl<M> Operation<M> {
    /// Runs `body` at most once for `key`, in the transaction of its record; every later call gets
    /// the recorded result.
    ///
    /// `db` is a pool, a connection or a transaction, as for a handler of the attribute. `request`
    /// is compared on a retry. The body must name its error type, as closures do: `Ok::<_, E>(..)`.
    ///
    /// ```
    /// # #[cfg(feature = "sqlite")]
    /// # async fn example(pool: sqlx::SqlitePool) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// use idem_runtime::{IdempotencyKey, Operation};
    ///
    /// const GREET: Operation = Operation::new("greetings", "greet");
    ///
    /// let key: IdempotencyKey = "7f3c".parse::<IdempotencyKey>()?.global();
    /// let greeting = GREET
    ///     .run(&pool, &key, &"Ada", async |tx| {
    ///         sqlx::query("INSERT INTO greeting (name) VALUES ('Ada')").execute(&mut **tx).await?;
    ///         Ok::<_, Box<dyn std::error::Error + Send + Sync>>("Hello, Ada".to_owned())
    ///     })
    ///     .await?;
    /// assert!(!greeting.replayed());
    /// # Ok(()) }
    /// ```
    ///
    /// An operation that records failures requires `Failure` of the error type:
    ///
    /// ```compile_fail
    /// # use idem_runtime::{IdempotencyKey, Operation, policy::RecordFailures};
    /// # async fn example(pool: sqlx::SqlitePool, key: IdempotencyKey) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// const PAY: Operation<RecordFailures> = Operation::new("payments", "pay").record_failures();
    ///
    /// // `Box<dyn Error>` does not say which failures are permanent.
    /// PAY.run(&pool, &key, &5, async |_| Ok::<_, Box<dyn std::error::Error + Send + Sync>>(1)).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - The body's own error, after everything is rolled back, or under [`RecordFailures`] after the
    ///   failure is recorded.
    /// - An [`Error`](crate::Error) of the library, converted by `From`.
    ///
    /// [`RecordFailures`]: crate::values::policy::RecordFailures
    pub async fn run<'c, DB, K, Q, T, E, F>(
        &self,
        db: impl Begin<'c, Transaction<'c, DB>>,
        key: &K,
        request: &Q,
        body: F,
    ) -> Result<Replayable<T>, E>
    where
        M: FailureMode<E>,
        DB: Backend,
        K: KeySource + ?Sized,
        Q: Serialize + ?Sized,
        T: RecordWrite + RecordRead,
        E: HandlerError,
        F: AsyncFnOnce(&mut Transaction<'_, DB>) -> Result<T, E>,
    {
        let contract = M::contract(contract(writes(), reads(), lifts()));
        let mut call = Request::new(*self);
        call.key(key);
        call.projection(request);
        let mut unit = unit::<Transaction<'c, DB>>(db);
        let mut claim = loop {
            match claim(&mut unit, &mut call, &contract).await {
                Step::Run(claim) => break claim,
                Step::Done(done) => return done,
                Step::Again => {}
            }
        };
        let result = in_span(&call, pin!(body(tx(&mut claim)))).await;
        let finished = finish(claim, result, &contract).await;
        settle(unit, finished, call, &contract).await
    }

    /// Does the same as [`run`](Self::run), and shows a replay to two functions before it is answered, as the attribute's
    /// `authorize` and `on_replay` do: outside of any transaction, after the connection is given back.
    ///
    /// `authorize` is asked about a recorded failure too. `on_replay` gets a result, and what it returns is the replay; the
    /// record stays as it is. The error of either is returned in place of the replay, and the call's event says `denied`.
    ///
    /// ```
    /// # #[cfg(feature = "sqlite")]
    /// # async fn example(pool: sqlx::SqlitePool, may_see: bool) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// use idem_runtime::{IdempotencyKey, Operation};
    ///
    /// const GREET: Operation = Operation::new("greetings", "greet");
    ///
    /// let key: IdempotencyKey = "7f3c".parse::<IdempotencyKey>()?.global();
    /// let greeting = GREET
    ///     .run_reviewed(
    ///         &pool,
    ///         &key,
    ///         &"Ada",
    ///         async |_| if may_see { Ok(()) } else { Err("she has lost the right".into()) },
    ///         async |greeting| Ok(greeting),
    ///         async |_| Ok::<_, Box<dyn std::error::Error + Send + Sync>>("Hello, Ada".to_owned()),
    ///     )
    ///     .await?;
    /// # let _ = greeting; Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - Those of [`run`](Self::run).
    /// - The error of `authorize` or of `on_replay`.
    pub async fn run_reviewed<'c, DB, K, Q, T, E, A, R, F>(
        &self,
        db: impl Begin<'c, Transaction<'c, DB>>,
        key: &K,
        request: &Q,
        authorize: A,
        on_replay: R,
        body: F,
    ) -> Result<Replayable<T>, E>
    where
        M: FailureMode<E>,
        DB: Backend,
        K: KeySource + ?Sized,
        Q: Serialize + ?Sized,
        T: RecordWrite + RecordRead,
        E: HandlerError,
        A: AsyncFnOnce(Result<&T, &E>) -> Result<(), E>,
        R: AsyncFnOnce(T) -> Result<T, E>,
        F: AsyncFnOnce(&mut Transaction<'_, DB>) -> Result<T, E>,
    {
        let contract = M::contract(contract(writes(), reads(), lifts()));
        let mut call = Request::new(*self);
        call.key(key);
        call.projection(request);
        call.review();
        let mut unit = unit::<Transaction<'c, DB>>(db);
        let mut claim = 'claim: {
            let done = loop {
                match claim(&mut unit, &mut call, &contract).await {
                    Step::Run(claim) => break 'claim claim,
                    Step::Done(done) => break done,
                    Step::Again => {}
                }
            };
            // The connection is given back first.
            drop(unit);
            return reviewed(call, done, authorize, on_replay).await;
        };
        let result = in_span(&call, pin!(body(tx(&mut claim)))).await;
        let finished = finish(claim, result, &contract).await;
        settle(unit, finished, call, &contract).await
    }
}

/// Shows a replay to the two functions. Any other answer is returned as it is.
async fn reviewed<T, E, A, R>(
    call: Request,
    done: Result<Replayable<T>, E>,
    authorize: A,
    on_replay: R,
) -> Result<Replayable<T>, E>
where
    A: AsyncFnOnce(Result<&T, &E>) -> Result<(), E>,
    R: AsyncFnOnce(T) -> Result<T, E>,
{
    if !review::is_replay(&call) {
        return done;
    }
    if let Err(error) = authorize(review::recorded(&done)).await {
        return review::denied(call, error);
    }
    let done = match done {
        Ok(replayed) => {
            let (value, recorded_at) = review::apart(replayed);
            match on_replay(value).await {
                Ok(value) => Ok(review::together(value, recorded_at)),
                Err(error) => return review::denied(call, error),
            }
        }
        failed => failed,
    };
    review::approved(call, done)
}
