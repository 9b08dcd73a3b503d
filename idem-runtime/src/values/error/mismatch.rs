//! The error for a key that was used with a different request.

use std::fmt;

/// The key was already used for a different request or operation. The record is never overwritten.
///
/// `Debug` and the wire formats leave out `recorded_request`: it may hold another caller's
/// data.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// The operation that claimed the key.
    pub recorded_operation: String,
    /// The operation that is called.
    pub submitted_operation: String,
    /// The canonical JSON of the recorded request, if the operation records requests.
    pub recorded_request: Option<Vec<u8>>,
    /// Whether the recorded request was too large to store.
    pub recorded_request_too_large: bool,
    /// The recorded fingerprint in lower-case hex, if the operation compares requests.
    pub recorded_hash: Option<String>,
    /// The fingerprint of the submitted request in lower-case hex.
    pub submitted_hash: Option<String>,
    /// Whether the two requests have the same elements and differ only in the order of a list, as two
    /// equal `HashSet`s do. Known only if the operation records requests.
    pub differs_in_order_only: bool,
    /// The places at which the submitted request differs from the recorded one, as JSON pointers (RFC 6901) into the compared
    /// parameters: `/cmd/lines/2/cents`. At most 16. Known only if the operation records requests (`record_request`, or a
    /// lease), and empty otherwise.
    ///
    /// No value is in them. A member's name is shown only if the submitted request has it and it looks like an
    /// identifier; otherwise, because it may be data (the keys of a map), the place is the object around it.
    pub differing: Vec<String>,
}

impl Mismatch {
    pub(crate) fn new(recorded_operation: String, submitted_operation: String) -> Self {
        Self {
            recorded_operation,
            submitted_operation,
            recorded_request: None,
            recorded_request_too_large: false,
            recorded_hash: None,
            submitted_hash: None,
            differs_in_order_only: false,
            differing: Vec::new(),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.recorded_operation == self.submitted_operation {
            write!(
                f,
                "the idempotency key was already used for a different request to `{}`",
                self.recorded_operation
            )?;
            if self.differs_in_order_only {
                f.write_str(
                    " (with the same elements in another order: a hash set has no stable order; \
                    compare a `BTreeSet`, or serialize the set with \
                     `idem_runtime::fingerprint::sorted`)",
                )?;
            }
            Ok(())
        } else {
            write!(
                f,
                "the idempotency key was already used for operation `{}`, not `{}`",
                self.recorded_operation, self.submitted_operation
            )
        }
    }
}

impl fmt::Debug for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mismatch")
            .field("recorded_operation", &self.recorded_operation)
            .field("submitted_operation", &self.submitted_operation)
            .field(
                "recorded_request_too_large",
                &self.recorded_request_too_large,
            )
            .field("recorded_hash", &self.recorded_hash)
            .field("submitted_hash", &self.submitted_hash)
            .field("differs_in_order_only", &self.differs_in_order_only)
            .field("differing", &self.differing)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for Mismatch {}
