//! What becomes of an answer, by its code.

use idem_runtime::policy::OnLapse;
use idem_tower::Keep;
use tonic::Code;

/// Returns how an answer is treated by default: the table of [`IdempotencyLayer::keep`](super::IdempotencyLayer::keep).
///
/// The source is gRPC's *Status codes and their use in gRPC*: which codes are sent before the effect, and which may be sent after it.
///
/// ```
/// use idem_runtime::policy::OnLapse;
/// use idem_tonic::layer::{Keep, keep};
/// use tonic::Code;
///
/// assert_eq!(keep(Code::NotFound, OnLapse::Unknown), Keep::Release);
/// assert_eq!(keep(Code::Unavailable, OnLapse::Unknown), Keep::Unknown);
/// assert_eq!(keep(Code::Unavailable, OnLapse::Retry), Keep::Release);
/// ```
pub fn keep(code: Code, on_lapse: OnLapse) -> Keep {
    match code {
        Code::Ok => Keep::Record,
        // The call was refused, and had no effect.
        Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::ResourceExhausted
        | Code::FailedPrecondition
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::Unauthenticated => Keep::Release,
        // "This error may be returned even if the operation has completed successfully" says the document of
        // DEADLINE_EXCEEDED, and it is as true of the others: a fault, or a link to another service that broke.
        Code::Cancelled
        | Code::Unknown
        | Code::DeadlineExceeded
        | Code::Internal
        | Code::Unavailable
        | Code::DataLoss => Keep::in_doubt(on_lapse),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_it_open_whether_it_happened_follows_the_operation_and_all_else_does_not() {
        for number in 0..=17 {
            // 17 is no code, which counts as UNKNOWN.
            let code = Code::from_i32(number);
            let expected = match number {
                0 => (Keep::Record, Keep::Record),
                1 | 2 | 4 | 13 | 14 | 15 | 17 => (Keep::Unknown, Keep::Release),
                _ => (Keep::Release, Keep::Release),
            };
            let found = (keep(code, OnLapse::Unknown), keep(code, OnLapse::Retry));
            assert_eq!(found, expected, "{code:?}");
        }
    }
}
