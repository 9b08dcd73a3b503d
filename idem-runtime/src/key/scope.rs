//! Whose keys these are.

use std::borrow::Cow;
use std::fmt;

use sha2::{Digest as _, Sha256};

use super::limits::SCOPE_MAX;
use super::{hex, text};
use crate::error::{Field, Invalid};

/// The tenant or principal whose keys these are: 1 to 255 characters, or [`Scope::GLOBAL`].
///
/// Two scopes of a namespace never see each other's keys. Use what stays the same when a
/// caller's credentials are renewed (the account, not the token), and nothing that strangers
/// share (an address behind which many sit).
///
/// White space is kept as given. A scope that is blank or has control characters is refused:
/// it is a tenant that somebody forgot to fill in.
///
/// A scope may name a person: `Debug` shows a hash of it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope(Cow<'static, str>);

impl Scope {
    /// One scope for all callers, said on purpose; stored as the empty text.
    pub const GLOBAL: Self = Self(Cow::Borrowed(""));

    /// Checks a scope.
    ///
    /// # Errors
    ///
    /// [`Invalid`] naming [`Field::Scope`] when it is blank, longer than [`SCOPE_MAX`]
    /// characters, or has a control character. Empty text is never taken for
    /// [`Scope::GLOBAL`].
    pub fn new(scope: impl Into<String>) -> Result<Self, Invalid> {
        let scope = scope.into();
        text::check(Field::Scope, &scope, SCOPE_MAX)?;
        Ok(Self(Cow::Owned(scope)))
    }

    /// [`Scope::GLOBAL`].
    pub const fn global() -> Self {
        Self::GLOBAL
    }

    /// Whether this is [`Scope::GLOBAL`].
    pub fn is_global(&self) -> bool {
        self.0.is_empty()
    }

    /// The text as it is stored: empty for [`Scope::GLOBAL`].
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
