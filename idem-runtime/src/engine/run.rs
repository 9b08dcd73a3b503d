//! The engine without the attribute: methods of a constant [`Operation`].

use serde::Serialize;
use sqlx::Transaction;

use super::contract::{
    Contract, HandlerError, RecordRead, RecordWrite, contract, failures, lifts, reads, writes,
};
use super::flow::{Step, claim, finish, settle, tx};
use super::request::Request;
use super::source::Begin;
use super::unit::unit;
use crate::error::Error;
use crate::failure::Failure;
use crate::key::KeySource;
use crate::policy::Failures;
use crate::replay::Replayable;
use crate::spec::Operation;
use crate::store::Backend;

impl Operation {
    /// Runs `body` at most once for `key`, in the transaction that writes its record. Every later
    /// call gets the recorded result.
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
    /// # Errors
    /// - The body's own error, after everything is rolled back.
    /// - Any [`Error`] of the library, converted by `From`.
    /// - [`Error::FailurePolicy`] if the operation records failures: call
    ///   [`Operation::run_recording`].
    /// - [`Error::LeasePolicy`] if the operation has a lease: call [`Operation::run_leased`].
    pub async fn run<'c, DB, K, Q, T, E, F>(
        &self,
        db: impl Begin<'c, Transaction<'c, DB>>,
        key: &K,
        request: &Q,
        body: F,
    ) -> Result<Replayable<T>, E>
    where
        DB: Backend,
        K: KeySource + ?Sized,
        Q: Serialize + ?Sized,
        T: RecordWrite + RecordRead,
        E: HandlerError,
        F: AsyncFnOnce(&mut Transaction<'_, DB>) -> Result<T, E>,
    {
        if self.policy().failures == Failures::Record {
            let operation = self.name().into();
            let refusal = Error::FailurePolicy { operation };
            return Err(E::lift(Request::refused(*self, key, refusal)));
        }
        self.run_under(db, key, request, body, contract(writes(), reads(), lifts()))
            .await
    }

    /// Runs `body` as [`Operation::run`] does. A permanent failure is recorded and replayed, and
    /// its writes are rolled back.
    ///
    /// ```
    /// # #[cfg(all(feature = "macros", feature = "sqlite"))]
    /// # mod example {
    /// use idem_runtime::{Failure, IdempotencyKey, Operation, StoredFailure};
    ///
    /// #[derive(Debug, thiserror::Error, Failure)]
    /// enum WithdrawError {
    ///     #[error("the account has too little money")]
    ///     #[failure(permanent)]
    ///     Overdrawn,
    ///     #[error(transparent)]
    ///     Database(#[from] sqlx::Error),
    ///     #[error(transparent)]
    ///     Idempotency(#[from] idem_runtime::Error),
    ///     #[error("{}", .0.message)]
    ///     #[failure(replayed)]
    ///     Recorded(StoredFailure),
    /// }
    ///
    /// const WITHDRAW: Operation = Operation::new("bank", "withdraw").record_failures();
    ///
    /// async fn withdraw(pool: &sqlx::SqlitePool, key: &IdempotencyKey) -> Result<(), WithdrawError> {
    ///     WITHDRAW
    ///         .run_recording(pool, key, &"Ada", async |tx| {
    ///             let paid = sqlx::query("UPDATE account SET money = money - 5 WHERE money >= 5")
    ///                 .execute(&mut **tx)
    ///                 .await?;
    ///             if paid.rows_affected() == 0 {
    ///                 return Err(WithdrawError::Overdrawn); // recorded: every retry gets it back
    ///             }
    ///             Ok(())
    ///         })
    ///         .await?;
    ///     Ok(())
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// - The body's own error, after its writes are rolled back.
    /// - Any [`Error`] of the library, converted by `From`.
    /// - [`Error::LeasePolicy`] if the operation has a lease: call
    ///   [`Operation::run_leased_recording`].
    pub async fn run_recording<'c, DB, K, Q, T, E, F>(
        &self,
        db: impl Begin<'c, Transaction<'c, DB>>,
        key: &K,
        request: &Q,
        body: F,
    ) -> Result<Replayable<T>, E>
    where
        DB: Backend,
        K: KeySource + ?Sized,
        Q: Serialize + ?Sized,
        T: RecordWrite + RecordRead,
        E: HandlerError + Failure,
        F: AsyncFnOnce(&mut Transaction<'_, DB>) -> Result<T, E>,
    {
        let contract = contract(writes(), reads(), lifts()).recording(failures());
        self.run_under(db, key, request, body, contract).await
    }

    async fn run_under<'c, DB, K, Q, T, E, F>(
        &self,
        db: impl Begin<'c, Transaction<'c, DB>>,
        key: &K,
        request: &Q,
        body: F,
        contract: Contract<T, E>,
    ) -> Result<Replayable<T>, E>
    where
        DB: Backend,
        K: KeySource + ?Sized,
        Q: Serialize + ?Sized,
        F: AsyncFnOnce(&mut Transaction<'_, DB>) -> Result<T, E>,
    {
        if self.policy().lease.is_some() {
            let refusal = Error::LeasePolicy {
                operation: self.name().into(),
                leased: true,
            };
            return Err(contract.lift(Request::refused(*self, key, refusal)));
        }
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
        let result = body(tx(&mut claim)).await;
        let finished = finish(claim, result, &contract).await;
        settle(unit, finished, call, &contract).await
    }
}
