//! What an operation asks of its error type, by what becomes of an `Err`.

use super::contract::{Contract, HandlerError, failures};
use crate::values::failure::Failure;
use crate::values::policy::{RecordFailures, RetryFailures};

/// What becomes of an `Err` of type `E`, as the type of an [`Operation`](crate::Operation) says:
/// [`RetryFailures`] asks for `From<idem_runtime::Error>`, [`RecordFailures`] for
/// [`Failure`] too. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what becomes of an `Err(_: {E})`",
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
