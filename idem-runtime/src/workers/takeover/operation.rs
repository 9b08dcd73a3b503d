//! What a worker is told of an operation: how often its attempts are repeated, and when.

use std::fmt;
use std::time::Duration;

use crate::values::operation::LeasedOperation;
use crate::values::policy::OnLapse;
use crate::values::spec::OperationSpec;

/// The default number of attempts, those of clients included: 10.
pub const DEFAULT_ATTEMPTS: u32 = 10;

/// The default pause after the first attempt: 10 seconds.
pub const DEFAULT_FIRST_PAUSE: Duration = Duration::from_secs(10);

/// The default of the longest pause: 10 minutes.
pub const DEFAULT_LONGEST_PAUSE: Duration = Duration::from_mins(10);

/// An operation whose lapsed leases are taken over, with the bounds of its attempts.
///
/// ```
/// use std::time::Duration;
///
/// use idem_runtime::policy::OnLapse;
/// use idem_runtime::takeover::Takeover;
/// use idem_runtime::{LeasedOperation, Operation};
///
/// const SEND: LeasedOperation = Operation::new("mail", "send").lease(Duration::from_secs(300), OnLapse::Retry);
///
/// let mails = Takeover::of(SEND).attempts(5).pauses(Duration::from_secs(30), Duration::from_secs(3_600));
/// ```
pub struct Takeover<M> {
    pub(super) operation: LeasedOperation<M>,
    retry: RetryBounds,
}

/// How often and when an attempt is repeated.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetryBounds {
    pub(super) attempts: i32,
    first: Duration,
    longest: Duration,
}

impl RetryBounds {
    /// Returns how long after the end of its lease an attempt is followed by another: twice as long after each.
    pub(super) fn pause_after(self, attempt: i32) -> Duration {
        let doubled = u32::try_from(attempt.saturating_sub(1)).unwrap_or(0);
        let factor = 2_u32.checked_pow(doubled).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.longest)
    }
}

impl<M> Takeover<M> {
    /// Describes an operation with the default bounds.
    #[must_use]
    pub fn of(operation: LeasedOperation<M>) -> Self {
        Self {
            operation,
            retry: RetryBounds {
                attempts: i32::try_from(DEFAULT_ATTEMPTS).unwrap_or(i32::MAX),
                first: DEFAULT_FIRST_PAUSE,
                longest: DEFAULT_LONGEST_PAUSE,
            },
        }
    }

    /// Sets the number of attempts at a key after which the outcome becomes unknown; 0 counts as 1. The record counts
    /// them: those of clients, those that released the key, and those of every worker.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.retry.attempts = i32::try_from(attempts.max(1)).unwrap_or(i32::MAX);
        self
    }

    /// Sets the pause after the end of the first attempt's lease, which doubles with each attempt, and its longest. A
    /// client that comes again does not wait for it.
    #[must_use]
    pub fn pauses(mut self, first: Duration, longest: Duration) -> Self {
        (self.retry.first, self.retry.longest) = (first, longest);
        self
    }

    pub(super) fn retry(&self) -> RetryBounds {
        self.retry
    }
}

impl<M> From<LeasedOperation<M>> for Takeover<M> {
    fn from(operation: LeasedOperation<M>) -> Self {
        Self::of(operation)
    }
}

impl<M> fmt::Debug for Takeover<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Takeover")
            .field("operation", &self.operation.name())
            .field("retry", &self.retry)
            .finish()
    }
}

/// Why a worker cannot handle an operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandleError {
    /// The operation's leases become unknown when they lapse: nobody may run its body again.
    #[error(
        "operation `{operation}` of namespace `{namespace}` is under `on_lapse = \"unknown\"`: \
         its lapsed leases are settled by hand, and not taken over"
    )]
    OnLapseUnknown {
        /// The operation's namespace.
        namespace: &'static str,
        /// The operation's name.
        operation: &'static str,
    },
    /// The operation compares nothing, so its records keep no request.
    #[error(
        "operation `{operation}` of namespace `{namespace}` is without a fingerprint: \
         its records keep no request that a body could be given"
    )]
    NoRequest {
        /// The operation's namespace.
        namespace: &'static str,
        /// The operation's name.
        operation: &'static str,
    },
    /// The worker handles this operation already.
    #[error("operation `{operation}` of namespace `{namespace}` is handled twice by one worker")]
    Twice {
        /// The operation's namespace.
        namespace: &'static str,
        /// The operation's name.
        operation: &'static str,
    },
    /// The operation records in another table than those before: give each table a worker of its own.
    #[error(
        "operation `{operation}` records in `{table}` and the worker's others in `{others}`: \
         a worker serves one table"
    )]
    OtherTable {
        /// The operation's name.
        operation: &'static str,
        /// Its table.
        table: &'static str,
        /// The table of the operations before.
        others: &'static str,
    },
}

impl HandleError {
    /// Checks an operation beside those that are handled already.
    pub(super) fn check<'o>(
        spec: &OperationSpec,
        others: impl Iterator<Item = &'o OperationSpec>,
    ) -> Result<(), Self> {
        let (namespace, operation) = (spec.namespace(), spec.name());
        let retries = |lease: crate::values::policy::Lease| lease.on_lapse() == OnLapse::Retry;
        if !spec.policy().lease.is_some_and(retries) {
            return Err(Self::OnLapseUnknown {
                namespace,
                operation,
            });
        }
        if !spec.policy().fingerprint {
            return Err(Self::NoRequest {
                namespace,
                operation,
            });
        }
        for other in others {
            if (other.namespace(), other.name()) == (namespace, operation) {
                return Err(Self::Twice {
                    namespace,
                    operation,
                });
            }
            if other.table_name() != spec.table_name() {
                return Err(Self::OtherTable {
                    operation,
                    table: spec.table_name(),
                    others: other.table_name(),
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::operation::Operation;
    use crate::values::policy::RetryFailures;

    const SEND: LeasedOperation =
        Operation::new("mail", "send").lease(Duration::from_mins(5), OnLapse::Retry);

    fn check<M>(
        operation: LeasedOperation<M>,
        others: &[OperationSpec],
    ) -> Result<(), HandleError> {
        HandleError::check(&operation.into(), others.iter())
    }

    #[test]
    fn a_pause_doubles_with_each_attempt_up_to_the_longest() {
        let (second, minute) = (Duration::from_secs(1), Duration::from_mins(1));
        let retry = Takeover::<RetryFailures>::of(SEND)
            .pauses(second, minute)
            .retry();
        let pauses = [1, 2, 3, 7, i32::MAX].map(|attempt| retry.pause_after(attempt));
        assert_eq!(pauses, [second, second * 2, second * 4, minute, minute]);
        assert_eq!(retry.pause_after(0), second);
    }

    #[test]
    fn an_operation_whose_leases_nobody_may_take_over_is_refused() {
        let unknown =
            Operation::new("mail", "send").lease(Duration::from_mins(5), OnLapse::Unknown);
        let refused = check(unknown, &[]).expect_err("unknown");
        assert!(matches!(refused, HandleError::OnLapseUnknown { .. }));
        let refused = check(SEND.without_fingerprint(), &[]).expect_err("no request");
        assert!(matches!(refused, HandleError::NoRequest { .. }));
        let handled = [SEND.into()];
        let refused = check(SEND, &handled).expect_err("twice");
        assert!(matches!(refused, HandleError::Twice { .. }));
        let charge = Operation::new("cards", "charge").table("other_record");
        let charge = charge.lease(Duration::from_mins(5), OnLapse::Retry);
        let refused = check(charge, &handled).expect_err("another table");
        assert!(matches!(refused, HandleError::OtherTable { .. }));
        assert_eq!(check(SEND, &[]), Ok(()));
    }
}
