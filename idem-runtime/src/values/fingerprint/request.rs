//! The compared parameters of a call, by name.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use super::canonical::{Object, Writer};
use crate::values::error::{Field, Invalid, Reason};

/// Collects the compared parameters of one call: the object whose canonical form is hashed.
///
/// A parameter that is an `Option` and `None` is left out, as in a struct. Therefore a handler may
/// gain an `Option` parameter without refusing retries of earlier calls.
///
/// ```
/// use idem_runtime::fingerprint::RequestFields;
///
/// let mut fields = RequestFields::new();
/// fields.field("to", "acme")?;
/// fields.field("cents", &1250)?;
/// fields.field("memo", &None::<String>)?;
/// assert_eq!(fields.into_canonical(), br#"{"cents":1250,"to":"acme"}"#);
/// # Ok::<(), idem_runtime::error::Invalid>(())
/// ```
pub struct RequestFields {
    writer: Writer,
    object: Object,
}

impl RequestFields {
    /// Creates an object without parameters.
    pub fn new() -> Self {
        let mut writer = Writer::new();
        let object = writer.open();
        Self { writer, object }
    }

    /// Adds a parameter. The order of the calls does not matter.
    ///
    /// # Errors
    ///
    /// [`Invalid`] of [`Field::Parameter`] if the object already has a parameter of this name, or
    /// if [`canonical_json`](super::canonical_json) refuses the value. The refused parameter is
    /// left out; the others stay.
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

    /// Returns the canonical form of the object `{name: value, …}`.
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

/// Prints no values: they may be personal data.
impl fmt::Debug for RequestFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestFields").finish_non_exhaustive()
    }
}
