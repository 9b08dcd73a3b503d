//! Operations without the attribute: what a call of them takes, and what it does, are in their types.

mod builders;
mod leased;

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use self::builders::builders;
pub use self::leased::LeasedOperation;
use crate::values::policy::{Lease, OnLapse, Policy, RecordFailures, RetryFailures};
use crate::values::spec::OperationSpec;

/// A constant description of one operation, which runs in the transaction of its record.
///
/// The attribute writes one for each handler; without the attribute it is written by hand and run
/// with [`Operation::run`]. `F` says what becomes of an `Err`: [`RetryFailures`] by default, and
/// [`RecordFailures`] after [`record_failures`](Operation::record_failures), which asks the error type for
/// [`Failure`](crate::Failure). [`lease`](Operation::lease) makes it a [`LeasedOperation`].
///
/// Every builder method is `const` and refuses a bad value at compile time:
///
/// ```
/// use idem_runtime::Operation;
/// use std::time::Duration;
///
/// const SHIP: Operation = Operation::new("orders", "ship").retention(Duration::from_secs(7 * 24 * 3600));
/// ```
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
    /// The operation `name` (1-255 characters, stable: it is stored and compared) in the key space
    /// `namespace` (1-64 of `a-z 0-9 - _`), with the default [`Policy`].
    ///
    /// # Panics
    /// If either name is not as said; at compile time, in a constant.
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
    /// Keeps the canonical request beside its hash, for diagnosing mismatches.
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

    /// Lease mode, for effects that no database can roll back: the claim is committed before the
    /// body runs, and the attempt owns its key for `lease` from then and from each heartbeat on.
    ///
    /// The request is kept in the record from the claim on, for whoever has to find an unknown
    /// outcome out, up to [`request_limit`](Self::request_limit), whether or not
    /// [`record_request`](Self::record_request) is given (an operation [without a fingerprint](Self::without_fingerprint) has none to keep).
    ///
    /// ```compile_fail
    /// # use {idem_runtime::{LeasedOperation, Operation, policy::OnLapse}, std::time::Duration};
    /// const MINUTE: Duration = Duration::from_secs(60);
    /// // A lease is taken on the key, so there must be one.
    /// const NOTIFY: LeasedOperation =
    ///     Operation::new("mail", "notify").optional_key().lease(MINUTE, OnLapse::Retry);
    /// ```
    ///
    /// # Panics
    /// If below 1 second or above 24 hours, or if the key [may be absent](Self::optional_key).
    #[must_use]
    pub const fn lease(self, lease: Duration, on_lapse: OnLapse) -> LeasedOperation<F> {
        LeasedOperation::new(self.spec, Lease::constant(lease, on_lapse))
    }
}

/// What has an operation: the marker type that `marker = ..` makes beside a handler, for whatever
/// describes the handler apart from its calls.
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
    /// [`Operation`], or the [`LeasedOperation`] of a handler with a lease.
    type Operation: Into<OperationSpec>;

    /// The operation.
    const OPERATION: Self::Operation;
}
