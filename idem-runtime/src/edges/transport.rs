//! All names that the crates under `transports/` may use besides the public ones. Not part of the public
//! interface, and stable within compatible releases.

use std::time::Duration;

use crate::calls::telemetry::{Call, Meter};
use crate::values::error::Error;
use crate::values::spec::OperationSpec;

/// Emits the event of a request that a transport refuses before the call begins.
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
    .emit(Meter::of(operation));
}
