//! Operations without the attribute. Their type says what `run` takes and how it treats an `Err`.

mod builders;
mod leased;

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use self::builders::builders;
pub use self::leased::LeasedOperation;
use crate::values::policy::{Lease, OnLapse, Policy, RecordFailures, RetryFailures};
use crate::values::spec::OperationSpec;

/// A constant description of one operation that runs in the transaction of its record.
///
/// The attribute generates one for each handler. Without the attribute, write it by hand and call
/// [`Operation::run`]. `F` determines how an `Err` is treated: [`RetryFailures`] by default, and
/// [`RecordFailures`] after [`record_failures`](Operation::record_failures), which requires the error type to
/// implement [`Failure`](crate::Failure). [`lease`](Operation::lease) turns it into a [`LeasedOperation`].
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// use std::time::Duration;
///
/// use idem_runtime::{IdempotencyKey, Operation, schema};
///
/// const SHIP: Operation = Operation::new("orders", "ship").retention(Duration::from_hours(7 * 24));
/// # let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
/// # schema::create_if_missing(&mut pool.acquire().await?).await?;
/// # sqlx::query("CREATE TABLE parcel (id INTEGER PRIMARY KEY, order_no INTEGER)").execute(&pool).await?;
///
/// let key = IdempotencyKey::derive(["acme", "order-17"])?.global();
/// for replayed in [false, true] {
///     let parcel = SHIP
///         .run(&pool, &key, &17, async |tx| {
///             let insert = sqlx::query_scalar("INSERT INTO parcel (order_no) VALUES (17) RETURNING id");
///             let id: i64 = insert.fetch_one(&mut **tx).await?;
///             Ok::<_, Box<dyn std::error::Error + Send + Sync>>(id)
///         })
///         .await?;
///     assert_eq!((*parcel, parcel.replayed()), (1, replayed));
/// }
/// # Ok(()) }
/// # #[cfg(not(feature = "sqlite"))]
/// # fn main() {}
/// ```
///
/// Every builder method is `const` and refuses a bad value at compile time:
///
/// ```compile_fail
/// # use idem_runtime::Operation;
/// const SHIP: Operation = Operation::new("Orders!", "ship"); // not a namespace
/// ```
pub struct Operation<F = RetryFailures> {
    spec: OperationSpec,
    failures: PhantomData<fn() -> F>,
}

impl Operation {
    /// Creates the operation `name` (1-255 characters, stable: it is stored and compared) in the key space
    /// `namespace` (1-64 of `a-z 0-9 - _`), with the default [`Policy`].
    ///
    /// # Panics
    /// Panics if either name breaks its rule. In a constant this is a compile error.
    pub const fn new(namespace: &'static str, name: &'static str) -> Self {
        Self {
            spec: OperationSpec::new(namespace, name),
            failures: PhantomData,
        }
    }

    /// Records permanent failures and replays them; see [`Failure`](crate::Failure).
    #[must_use]
    pub const fn record_failures(self) -> Operation<RecordFailures> {
        Operation {
            spec: self.spec.record_failures(),
            failures: PhantomData,
        }
    }
}

builders!(Operation);

impl<F> Operation<F> {
    /// Stores the canonical request beside its hash, to diagnose mismatches.
    #[must_use]
    pub const fn record_request(mut self) -> Self {
        self.spec = self.spec.record_request();
        self
    }

    /// Lets a call without a key run, without idempotency.
    #[must_use]
    pub const fn optional_key(mut self) -> Self {
        self.spec = self.spec.optional_key();
        self
    }

    /// Switches to lease mode, for effects that no database can roll back: the claim is committed before
    /// the body runs, and the attempt owns its key for `lease` after the claim and after each heartbeat.
    ///
    /// The record holds the request from the claim on, so that an unknown outcome can be settled. Requests
    /// above [`request_limit`](Self::request_limit) are not stored. This does not depend on
    /// [`record_request`](Self::record_request). An operation [without a fingerprint](Self::without_fingerprint) stores no request.
    ///
    /// ```compile_fail
    /// # use {idem_runtime::{LeasedOperation, Operation, policy::OnLapse}, std::time::Duration};
    /// const MINUTE: Duration = Duration::from_secs(60);
    /// // A lease belongs to a key, so the key is required.
    /// const NOTIFY: LeasedOperation =
    ///     Operation::new("mail", "notify").optional_key().lease(MINUTE, OnLapse::Retry);
    /// ```
    ///
    /// # Panics
    /// Panics if `lease` is below 1 second or above 24 hours, or if the key [is optional](Self::optional_key).
    #[must_use]
    pub const fn lease(self, lease: Duration, on_lapse: OnLapse) -> LeasedOperation<F> {
        LeasedOperation::new(self.spec, Lease::constant(lease, on_lapse))
    }
}

/// A type that has an operation: the marker type that `marker = ..` generates beside a handler, for code
/// that describes the handler without calling it.
///
/// ```
/// # #[cfg(all(feature = "macros", feature = "sqlite"))] {
/// use idem_runtime::handler::DescribeOperation as _;
/// use idem_runtime::{IdempotencyKey, idempotent};
/// use sqlx::SqliteTransaction;
///
/// #[idempotent(namespace = "payments", marker = Settle)]
/// async fn settle(_tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey) -> Result<(), idem_runtime::Error> {
///     Ok(())
/// }
///
/// assert_eq!(Settle::OPERATION.name(), "settle");
/// # }
/// ```
pub trait DescribeOperation {
    /// The type of the operation: [`Operation`], or [`LeasedOperation`] for a handler with a lease.
    type Operation: Into<OperationSpec>;

    /// The operation.
    const OPERATION: Self::Operation;
}
