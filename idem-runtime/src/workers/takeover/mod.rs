//! Takes lapsed leases over in the background, so that recovery does not wait for a client to come again.
//!
//! A process that dies leaves its leases to lapse. Under `on_lapse = "retry"` the next caller runs the body again, and
//! without a next caller nobody does. A [`TakeoverWorker`] is that caller: it finds the leases of its operations that
//! have lapsed, by the database's clock, and runs a body with the request that the record has kept. It claims as a
//! client does, by one conditional UPDATE, runs under a lease with heartbeats, and records the result; the client that
//! comes back replays it. Of any number of workers and clients at once, one owns the key.
//!
//! | the lapsed lease | the worker |
//! |---|---|
//! | is of an operation that it does not handle, or was claimed under `on_lapse = "unknown"` | leaves it |
//! | keeps a whole request under a clear key | runs the body, after a pause that grows with the attempts |
//! | has no request that can be given to the body | leaves it for the client, and counts it: [`LeftLeases`] |
//! | has used its attempts up ([`Takeover::attempts`]) | makes the outcome unknown: somebody must look |
//!
//! | the worker's run | the record |
//! |---|---|
//! | succeeds, or fails permanently under `failures = "record"` | as of a client's run: completed, failed |
//! | fails otherwise, or panics | its lease ends at once: a client may take over, and the worker does after the pause |
//! | does so as the last attempt, or after [`Attempt::outcome_unknown`](crate::Attempt::outcome_unknown) | unknown |
//! | loses its process | the lease lapses, and another worker takes over |
//!
//! **Released keys** are left to their clients: a client whose call failed has been told so, and decides whether to try
//! again. Only where nobody was told does the worker step in.
//!
//! **The request** is what the record compares: for a handler an object with a member for each parameter that is
//! compared, by its name, without those of `skip(..)` and without the key; for `fingerprint = expr`, that value; for
//! [`LeasedOperation::run`](crate::LeasedOperation::run), its `request`. Members that are null may be absent. Every
//! lease keeps it, up to [`request_limit`](crate::LeasedOperation::request_limit) and unless nothing is compared. It is
//! checked against the record's fingerprint before the body gets it.

mod handler;
mod inspect;
mod operation;
mod report;
mod sweep;

use std::fmt;
use std::pin::pin;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use sqlx::Pool;

use self::handler::{Handled, HandledBody};
pub use self::operation::{
    DEFAULT_ATTEMPTS, DEFAULT_FIRST_PAUSE, DEFAULT_LONGEST_PAUSE, HandleError, Takeover,
};
pub use self::report::{LeftLeases, TakeoverSweep};
use self::sweep::Runs;
use super::unless;
use crate::calls::kit::contract::{contract, lifts, reads, writes};
use crate::calls::kit::{FailureMode, HandlerError, RecordRead, RecordWrite};
use crate::calls::lease::Attempt;
use crate::calls::telemetry::TARGET;
#[cfg(feature = "metrics")]
use crate::calls::telemetry::metrics::{TAKEOVER_SWEEPS, increment};
use crate::stores::LeaseBackend;
use crate::values::error::Error;
use crate::values::version::Versions;

/// The default time between two sweeps: 10 seconds.
pub const DEFAULT_INTERVAL: Duration = Duration::from_secs(10);

/// The default maximum of bodies that one worker runs at once: 4.
pub const DEFAULT_CONCURRENCY: usize = 4;

/// Takes lapsed leases of one table over at an interval, until it is cancelled. See [the module](self).
///
/// Write the effect once, as a function of the attempt, the request and its clients. The handler calls it for clients,
/// and the worker's closure for those who do not come back:
///
/// ```
/// # #[cfg(all(feature = "macros", feature = "sqlite"))]
/// # mod example {
/// use std::sync::Arc;
///
/// use idem_runtime::handler::DescribeOperation as _;
/// use idem_runtime::{Attempt, IdempotencyKey, TakeoverWorker, idempotent};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Receipt { order: i64, cents: i64 }
///
/// struct Mailer; // the provider's client
/// # impl Mailer { async fn send(&self, _key: &str, _to: &str, _receipt: &Receipt) -> Result<u64, MailError> { Ok(1) } }
/// # #[derive(Debug, thiserror::Error)]
/// # enum MailError { #[error(transparent)] Idempotency(#[from] idem_runtime::Error) }
///
/// /// The effect.
/// async fn send(attempt: &Attempt, to: &str, receipt: &Receipt, mailer: &Mailer) -> Result<u64, MailError> {
///     mailer.send(&attempt.external_key(), to, receipt).await
/// }
///
/// #[idempotent(namespace = "mail", lease = "5m", on_lapse = "retry", skip(mailer), marker = SendReceipt)]
/// async fn send_receipt(
///     attempt: &Attempt,
///     key: &IdempotencyKey,
///     to: String,
///     receipt: Receipt,
///     mailer: Arc<Mailer>,
/// ) -> Result<u64, MailError> {
///     send(attempt, &to, &receipt, &mailer).await
/// }
///
/// /// What the record keeps of a call: the compared parameters, by name.
/// #[derive(Deserialize)]
/// struct SendReceiptRequest { to: String, receipt: Receipt }
///
/// async fn recover(pool: sqlx::SqlitePool, mailer: Arc<Mailer>) -> Result<(), Box<dyn std::error::Error>> {
///     let worker = TakeoverWorker::new(pool).handle(
///         SendReceipt::OPERATION,
///         move |attempt: Attempt, request: SendReceiptRequest| {
///             let mailer = Arc::clone(&mailer);
///             async move { send(&attempt, &request.to, &request.receipt, &mailer).await }
///         },
///     )?;
///     let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
///     let taking_over = tokio::spawn(worker.run(stopped)); // or until SIGTERM, or Ctrl-C
///     // … and at shutdown:
///     drop(stop);
///     taking_over.await?;
///     idem_runtime::lease::drain().await; // the bodies that still run
///     Ok(())
/// }
/// # }
/// ```
#[must_use = "a worker takes over when it is run"]
pub struct TakeoverWorker<DB: LeaseBackend> {
    pool: Pool<DB>,
    interval: Duration,
    concurrency: usize,
    handled: Vec<Box<dyn Handled<DB>>>,
    report: Option<Box<SweepReport>>,
}

type SweepReport = dyn Fn(&Result<TakeoverSweep, Error>) + Send + Sync;

impl<DB: LeaseBackend> TakeoverWorker<DB> {
    /// Creates a worker that handles nothing yet.
    pub fn new(pool: Pool<DB>) -> Self {
        Self {
            pool,
            interval: DEFAULT_INTERVAL,
            concurrency: DEFAULT_CONCURRENCY,
            handled: Vec::new(),
            report: None,
        }
    }

    /// Takes over the lapsed leases of this operation: `body` runs with the attempt and the recorded request. Pass the
    /// operation itself, or a [`Takeover`] of it to set its attempts and pauses.
    ///
    /// `Req` must decode what the record compares: see [the module](self). The result and the failures are recorded as
    /// the handler records them, so `T` and `E` must be the handler's. The error is not logged: do it in `body`.
    ///
    /// # Errors
    /// [`HandleError`] if the leases of this operation cannot be taken over, if it is handled already, or if its
    /// records are in another table than those of the operations before.
    pub fn handle<M, Req, T, E, F, Fut>(
        self,
        operation: impl Into<Takeover<M>>,
        body: F,
    ) -> Result<Self, HandleError>
    where
        M: FailureMode<E> + 'static,
        Req: DeserializeOwned + Send + 'static,
        T: RecordWrite + RecordRead + Send + 'static,
        E: HandlerError + Send + 'static,
        F: Fn(Attempt, Req) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
    {
        let contract = M::contract(contract(writes(), reads(), lifts()));
        self.add(HandledBody::new(operation.into(), contract, body))
    }

    /// Does as [`handle`](Self::handle) for a handler with `result_version`: the result is recorded in these versions,
    /// which must be the handler's. A result recorded without its version would be read as version 1.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub fn handle_versioned<M, Req, T, E, F, Fut>(
        self,
        operation: impl Into<Takeover<M>>,
        versions: Versions<T>,
        body: F,
    ) -> Result<Self, HandleError>
    where
        M: FailureMode<E> + 'static,
        Req: DeserializeOwned + Send + 'static,
        T: RecordWrite + RecordRead + Send + 'static,
        E: HandlerError + Send + 'static,
        F: Fn(Attempt, Req) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
    {
        let contract = M::contract(contract(writes(), reads(), lifts())).versioned(versions);
        self.add(HandledBody::new(operation.into(), contract, body))
    }

    fn add(mut self, handler: impl Handled<DB> + 'static) -> Result<Self, HandleError> {
        let others = self.handled.iter().map(|handled| handled.operation());
        HandleError::check(handler.operation(), others)?;
        self.handled.push(Box::new(handler));
        Ok(self)
    }

    /// Sets the time from the end of a sweep to the next.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Sets the maximum number of bodies of one operation that run at once; 0 counts as 1. Above this a sweep waits for one
    /// of them to end, for one interval at most, and leaves the others of that operation to the next sweep.
    pub fn concurrency(mut self, bodies: usize) -> Self {
        self.concurrency = bodies.max(1);
        self
    }

    /// Calls `report` with the result of each sweep of [`run`](Self::run), for metrics and alarms.
    pub fn on_sweep(
        mut self,
        report: impl Fn(&Result<TakeoverSweep, Error>) + Send + Sync + 'static,
    ) -> Self {
        self.report = Some(Box::new(report));
        self
    }

    /// Sweeps at once and then after every interval, until the future `cancel` is ready. Its output is ignored.
    ///
    /// A sweep that finds nothing is one statement. It does not wait for the bodies that it begins. Cancellation takes
    /// effect at once: no further lease is taken over, and the bodies that run go on to their end; await
    /// [`lease::drain`](crate::lease::drain) for them. If a sweep fails, its error is reported and the next one starts
    /// after the interval.
    pub async fn run(self, cancel: impl Future) {
        let mut cancel = pin!(async { drop(cancel.await) });
        let mut runs = Runs::new(self.handled.len(), self.concurrency);
        loop {
            let (mut swept, began) = (TakeoverSweep::default(), Instant::now());
            let done = unless(cancel.as_mut(), self.sweep(&mut runs, &mut swept)).await;
            runs.count_ended(&mut swept);
            let cancelled = done.is_none();
            let result = done.unwrap_or(Ok(())).map(|()| swept);
            self.emit(&result, swept, cancelled, began.elapsed());
            if cancelled {
                return;
            }
            let pause = tokio::time::sleep(self.interval);
            if unless(cancel.as_mut(), pause).await.is_none() {
                return;
            }
        }
    }

    /// Runs one sweep, and waits for the bodies that it began, for a scheduler of your own.
    ///
    /// # Errors
    /// - [`Error::Schema`] if the table does not exist.
    /// - Any error of the database, after the bodies that were begun before it have ended.
    pub async fn run_once(&self) -> Result<TakeoverSweep, Error> {
        let mut runs = Runs::new(self.handled.len(), self.concurrency);
        let mut swept = TakeoverSweep::default();
        let done = self.sweep(&mut runs, &mut swept).await;
        runs.ended(&mut swept).await;
        done.map(|()| swept)
    }

    fn emit(
        &self,
        result: &Result<TakeoverSweep, Error>,
        swept: TakeoverSweep,
        cancelled: bool,
        elapsed: Duration,
    ) {
        let TakeoverSweep {
            found,
            waiting,
            begun,
            completed,
            failed,
            overtaken,
            unknown,
            left,
        } = swept;
        let left = left.total();
        let elapsed_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        match result {
            // A sweep that found nothing is no news.
            Ok(swept) if *swept == TakeoverSweep::default() && !cancelled => {
                tracing::debug!(target: TARGET, elapsed_us, "takeover");
            }
            Ok(_) => tracing::info!(
                target: TARGET, found, waiting, begun, completed, failed, overtaken, unknown, left, cancelled,
                elapsed_us, "takeover"
            ),
            Err(error) => tracing::warn!(
                target: TARGET, found, begun, completed, failed, unknown, left, elapsed_us, error = %error,
                "takeover failed"
            ),
        }
        #[cfg(feature = "metrics")]
        {
            let outcome = match result {
                Ok(_) if cancelled => "cancelled",
                Ok(_) => "completed",
                Err(_) => "failed",
            };
            increment(TAKEOVER_SWEEPS, ("outcome", outcome), 1);
        }
        if let Some(report) = &self.report {
            report(result);
        }
    }
}

impl<DB: LeaseBackend> fmt::Debug for TakeoverWorker<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operations: Vec<_> = self
            .handled
            .iter()
            .map(|handled| (handled.operation().namespace(), handled.operation().name()))
            .collect();
        f.debug_struct("TakeoverWorker")
            .field("operations", &operations)
            .field("interval", &self.interval)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}
