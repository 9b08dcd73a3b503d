//! A value that is given at most once.

use syn::Ident;

use super::value::Argument;
use crate::diagnostic::{Code, fault};

/// One option: whether it was given, and its value unless the value was faulty.
pub(crate) struct Slot<T> {
    /// The option's name where it was written.
    pub(crate) name: Option<Ident>,
    /// `None` also if the option was given with a faulty value; that fault has been reported.
    pub(crate) value: Option<T>,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self {
            name: None,
            value: None,
        }
    }
}

impl<T> Slot<T> {
    /// Reads the value of the option whose name was just read.
    pub(crate) fn set(
        &mut self,
        at: &Argument<'_>,
        read: impl FnOnce(&Argument<'_>) -> syn::Result<T>,
    ) -> syn::Result<()> {
        let again = self.name.replace(at.name.clone()).is_some();
        let value = read(at);
        if again {
            return Err(fault(
                Code::DuplicateOption,
                at.name,
                format_args!("`{}` is given twice: remove one", at.name),
            ));
        }
        self.value = Some(value?);
        Ok(())
    }

    pub(crate) fn is_given(&self) -> bool {
        self.name.is_some()
    }
}

impl<T: Copy + PartialEq> Slot<T> {
    /// Returns the option's name if it was given with this value.
    pub(crate) fn given_as(&self, value: T) -> Option<&Ident> {
        self.name.as_ref().filter(|_| self.value == Some(value))
    }
}
