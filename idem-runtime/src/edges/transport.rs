//! Every name that the crates under `transports/` may use besides the public ones, and no other. Not part of the
//! public interface, and kept within compatible releases.

use std::time::Duration;

use crate::calls::telemetry::Call;
use crate::values::error::Error;
use crate::values::spec::OperationSpec;

/// Emits the event of a request that a transport refuses before the call begins, as those of a call are.
pub fn emit_refused(operation: impl Into<OperationSpec>, refusal: &Error) {
    let operation = &operation.into();
    Call {
        operation,
        name: operation.name(),
        identity: None,
        outcome: "refused",
        record: None,
        refusal: Some(refusal),
        waits: 0,
        elapsed: Duration::ZERO,
    }
    .emit();
}
