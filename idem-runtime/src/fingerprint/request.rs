//! The compared parameters of a call, by name.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use super::canonical::{Object, Writer};
use crate::error::{Field, Invalid, Reason};

/// The compared parameters of one call, by name: the object whose canonical form is hashed.
///
/// As in a struct, an `Option` that is `None` is left out, so that a handler may gain an
/// `Option` parameter without refusing retries begun before.
pub struct RequestFields {
    writer: Writer,
    object: Object,
}

impl RequestFields {
    /// No parameters yet.
    pub fn new() -> Self {
        let mut writer = Writer::new();
        let object = writer.open();
        Self { writer, object }
    }

    /// Adds a parameter; the order of calls does not matter.
    ///
    /// # Errors
    ///
    /// [`Invalid`] naming the parameter, when there is one of that name already or the value
    /// is refused as by [`canonical_json`](super::canonical_json). The parameter is then left
    /// out and the others stay.
    pub fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Invalid> {
        let parameter = Field::Parameter(Cow::Borrowed(name));
        if self.writer.has(&self.object, name) {
            return Err(Invalid::new(parameter, Reason::Duplicate(name.to_owned())));
        }
        let entry = self.writer.field(&self.object, name);
        match value.serialize(&mut self.writer) {
            Ok(()) => {
                self.writer.keep_unless_none::<T>(&entry);
                Ok(())
            }
            Err(fault) => {
                self.writer.discard(&entry);
                Err(fault.of(parameter))
            }
        }
    }

    /// The canonical form of the object `{name: value, …}`.
    pub fn into_canonical(self) -> Vec<u8> {
        let Self { mut writer, object } = self;
        writer.sort(&object);
        writer.out.push(b'}');
        writer.out
    }
}

impl Default for RequestFields {
    fn default() -> Self {
        Self::new()
    }
}

/// The values may hold personal data and are not shown.
impl fmt::Debug for RequestFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestFields").finish_non_exhaustive()
    }
}
