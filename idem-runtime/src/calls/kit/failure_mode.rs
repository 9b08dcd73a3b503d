//! The traits that an operation requires of its error type, depending on whether it records
//! failures.

use super::contract::{Contract, HandlerError, failures};
use crate::values::failure::Failure;
use crate::values::policy::{RecordFailures, RetryFailures};

/// How an [`Operation`](crate::Operation) treats an `Err` of type `E`. [`RetryFailures`] requires
/// `From<idem_runtime::Error>`; [`RecordFailures`] requires [`Failure`] as well. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how to treat an error of type `{E}`",
    label = "an operation is `Operation<RetryFailures>` or, after `record_failures()`, `Operation<RecordFailures>`"
)]
pub trait FailureMode<E>: sealed::Sealed {
    #[doc(hidden)]
    fn contract<T>(base: Contract<T, E>) -> Contract<T, E>;
}

impl<E: HandlerError> FailureMode<E> for RetryFailures {
    fn contract<T>(base: Contract<T, E>) -> Contract<T, E> {
        base
    }
}

impl<E: HandlerError + Failure> FailureMode<E> for RecordFailures {
    fn contract<T>(base: Contract<T, E>) -> Contract<T, E> {
        base.recording(failures())
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::RetryFailures {}
    impl Sealed for super::RecordFailures {}
}
