//! The error of the canonical writer.

use std::fmt;

use serde::ser;

use crate::values::error::{Field, Invalid, Reason};

/// States why a value has no canonical form. The caller adds the [`Field`] that the value belongs
/// to.
///
/// The reason is boxed to keep the `Result` of every step of the writer small.
#[derive(Debug)]
pub(super) struct Fault(Box<Reason>);

impl Fault {
    pub(super) fn new(reason: Reason) -> Self {
        Self(Box::new(reason))
    }

    pub(super) fn of(self, field: Field) -> Invalid {
        Invalid::new(field, *self.0)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the value {}", self.0)
    }
}

impl std::error::Error for Fault {}

impl ser::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Reason::Serialize(message.to_string()))
    }
}
