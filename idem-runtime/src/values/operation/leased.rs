//! An operation in lease mode.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use super::builders;
use crate::values::policy::{Lease, Policy, RecordFailures, RetryFailures};
use crate::values::spec::OperationSpec;

/// A constant description of one operation in [lease mode](crate::calls::lease), for effects that no database can
/// roll back. [`Operation::lease`](crate::Operation::lease) creates it, and [`LeasedOperation::run`] runs it.
///
/// Every builder method is `const` and refuses a bad value at compile time:
///
/// ```
/// use std::time::Duration;
///
/// use idem_runtime::policy::OnLapse;
/// use idem_runtime::{LeasedOperation, Operation};
///
/// const NOTIFY: LeasedOperation =
///     Operation::new("mail", "notify").lease(Duration::from_secs(300), OnLapse::Retry);
/// ```
pub struct LeasedOperation<F = RetryFailures> {
    spec: OperationSpec,
    lease: Lease,
    failures: PhantomData<fn() -> F>,
}

impl LeasedOperation {
    /// Records permanent failures and replays them; see [`Failure`](crate::Failure).
    #[must_use]
    pub const fn record_failures(self) -> LeasedOperation<RecordFailures> {
        LeasedOperation::new(self.spec.record_failures(), self.lease)
    }
}

builders!(LeasedOperation);

impl<F> LeasedOperation<F> {
    pub(super) const fn new(spec: OperationSpec, lease: Lease) -> Self {
        Self {
            spec: spec.lease(lease),
            lease,
            failures: PhantomData,
        }
    }

    /// Returns the lease, and what happens to the key when it lapses.
    pub const fn lease_policy(&self) -> Lease {
        self.lease
    }
}
