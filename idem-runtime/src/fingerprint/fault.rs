//! Why a value has no canonical form.

use std::fmt;

use serde::ser;

use crate::error::{Field, Invalid, Reason};

/// Why a value has no canonical form, before it is known which input the value belongs to.
///
/// Boxed, since every step of the writer returns one.
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
