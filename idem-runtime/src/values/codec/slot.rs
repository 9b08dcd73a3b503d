//! The static that operations name, and that a program fills at start-up.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::protection::Protection;
use crate::values::error::{CodecFault, Error};
use crate::values::key::IdempotencyKey;

/// The place of the keys and settings of operations whose payloads may not stand in clear: a `static` that the
/// operations name, and that the program fills at start-up.
///
/// An operation that names a codec never writes in clear: as long as nothing is installed, each call returns
/// [`CodecFault::NotInstalled`], and its body does not run.
pub struct Codec {
    name: &'static str,
    installed: RwLock<Option<Arc<Protection>>>,
}

impl Codec {
    /// Creates a codec for a `static`. `name` is shown in errors: use the name of the `static`.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            installed: RwLock::new(None),
        }
    }

    /// Installs the keys and settings. Installs them again to rotate: calls that have begun end with those that they
    /// began with.
    ///
    /// # Errors
    /// [`CodecFault::NamesChanged`] if the codec is installed already and the key that hashes keys and scopes would
    /// change. The codec is then unchanged.
    pub fn install(&self, protection: Protection) -> Result<(), Error> {
        let mut installed = self
            .installed
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if installed
            .as_ref()
            .is_some_and(|before| !before.hashes_names_as(&protection))
        {
            return Err(CodecFault::NamesChanged { codec: self.name }.into());
        }
        *installed = Some(Arc::new(protection));
        Ok(())
    }

    /// Returns the name that the codec was created with.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the key and the scope as the table holds them, for the commands of an operator: hashed, if the codec
    /// hashes them, and as they are otherwise.
    ///
    /// # Errors
    /// [`CodecFault::NotInstalled`]; [`Error::ScopeMissing`] for a key without a scope.
    pub fn stored_key(
        &self,
        namespace: &str,
        key: &IdempotencyKey,
    ) -> Result<IdempotencyKey, Error> {
        let protection = self.protection()?;
        let Some(scope) = key.scope().cloned() else {
            return Err(Error::ScopeMissing {
                operation: "stored_key".into(),
            });
        };
        let (scope, key) = protection.stored(namespace, scope, key.clone())?;
        Ok(key.scoped(scope))
    }

    pub(crate) fn protection(&self) -> Result<Arc<Protection>, Error> {
        let installed = self
            .installed
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        installed
            .clone()
            .ok_or_else(|| CodecFault::NotInstalled { codec: self.name }.into())
    }
}

impl fmt::Debug for Codec {
    /// Shows the name alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Codec").field(&self.name).finish()
    }
}

impl PartialEq for Codec {
    /// A codec is equal to itself alone.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Codec {}
