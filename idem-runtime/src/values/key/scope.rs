//! The tenant or principal that keys belong to.

use std::borrow::Cow;
use std::fmt;

use sha2::{Digest as _, Sha256};

use super::limits::SCOPE_MAX;
use super::{hex, text};
use crate::values::error::{Error, Field, Invalid};

/// The tenant or principal that keys belong to: 1 to 255 characters, or [`Scope::GLOBAL`].
///
/// Equal keys in two scopes of a namespace are different keys. Use an identifier that stays the
/// same when the caller's credentials are renewed (the account, not the token). Do not use an
/// identifier that unrelated callers share (an IP address behind NAT).
///
/// White space is kept as given. A blank scope is refused: it is usually a tenant id that was never
/// filled in. Control characters are refused.
///
/// A scope may be personal data: `Debug` prints a hash of it.
///
/// ```
/// use idem_runtime::Scope;
///
/// assert_eq!(Scope::new("tenant-7")?.as_str(), "tenant-7");
/// assert!(Scope::new("").is_err());
/// assert!(Scope::GLOBAL.is_global());
/// # Ok::<(), idem_runtime::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope(Cow<'static, str>);

impl Scope {
    /// The scope that all callers share; stored as the empty text.
    pub const GLOBAL: Self = Self(Cow::Borrowed(""));

    /// Checks a scope at run time.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] of [`Field::Scope`] if the text is blank, is longer than [`SCOPE_MAX`]
    /// characters, or contains a control character. Empty text is refused as well: it does not mean
    /// [`Scope::GLOBAL`].
    pub fn new(scope: impl Into<String>) -> Result<Self, Error> {
        Ok(Self::checked(scope.into())?)
    }

    /// Checks a scope, as [`new`](Self::new) does.
    pub(crate) fn checked(scope: String) -> Result<Self, Invalid> {
        text::check(Field::Scope, &scope, SCOPE_MAX)?;
        Ok(Self(Cow::Owned(scope)))
    }

    /// Returns [`Scope::GLOBAL`].
    pub const fn global() -> Self {
        Self::GLOBAL
    }

    /// Returns whether this is [`Scope::GLOBAL`].
    pub fn is_global(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text as it is stored: empty for [`Scope::GLOBAL`].
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_global() {
            return f.write_str("Scope::GLOBAL");
        }
        let digest = Sha256::digest(self.as_str().as_bytes());
        write!(f, "Scope(#{})", hex::lower(&digest[..6]))
    }
}
