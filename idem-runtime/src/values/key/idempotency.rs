//! The key that a caller sends with a request.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use super::limits::KEY_MAX;
use super::scope::Scope;
use super::{hex, text};
use crate::values::error::{Error, Field, Invalid};

/// Identifies one intended effect for a caller: 1 to 255 characters, no control characters.
///
/// Leading and trailing white space (Unicode `White_Space`) is trimmed; the rest is kept byte for
/// byte. A key may carry the [`Scope`] it is valid in. A parsed key carries no scope until
/// [`scoped`](Self::scoped) or [`global`](Self::global) sets one.
///
/// A key can hold personal data. Therefore it does not implement `Display`, and `Debug` prints only
/// [`short_hash`](Self::short_hash).
///
/// ```
/// use idem_runtime::{IdempotencyKey, Scope};
///
/// let key = " 8e03978e ".parse::<IdempotencyKey>()?.scoped(Scope::new("tenant-7")?);
/// assert_eq!(key.as_str(), "8e03978e");
/// assert!(IdempotencyKey::parse(None)?.is_none());
/// assert!(IdempotencyKey::parse(Some(" ")).is_err());
/// # Ok::<(), idem_runtime::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey {
    text: Box<str>,
    scope: Option<Scope>,
}

impl IdempotencyKey {
    /// Parses a key that may be absent, such as the value of a header.
    ///
    /// Returns `Ok(None)` if `text` is `None`. A blank text is an error: the caller meant to send a
    /// key, and a call without one is not safe to retry.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] of [`Field::Key`] if the trimmed text is empty, is longer than [`KEY_MAX`]
    /// characters, or contains a control character.
    pub fn parse(text: Option<&str>) -> Result<Option<Self>, Error> {
        text.map(str::parse).transpose()
    }

    /// Checks a key, as [`parse`](Self::parse) does.
    pub(crate) fn checked(text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        text::check(Field::Key, text, KEY_MAX)?;
        Ok(Self {
            text: text.into(),
            scope: None,
        })
    }

    /// Creates a key from text that is known to follow the rules, without checking it again.
    pub(super) fn derived(text: String, scope: Option<Scope>) -> Self {
        Self {
            text: text.into_boxed_str(),
            scope,
        }
    }

    /// Sets the scope, replacing the one that the key carried.
    #[must_use]
    pub fn scoped(self, scope: Scope) -> Self {
        Self {
            scope: Some(scope),
            ..self
        }
    }

    /// Sets the scope to [`Scope::GLOBAL`]: all callers who send this text share one effect.
    #[must_use]
    pub fn global(self) -> Self {
        self.scoped(Scope::GLOBAL)
    }

    /// Returns the scope that the key carries, or `None` if it carries none.
    pub fn scope(&self) -> Option<&Scope> {
        self.scope.as_ref()
    }

    /// Returns the trimmed text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the first 12 hexadecimal digits of the SHA-256 of the text, for logs. The scope is
    /// not hashed.
    pub fn short_hash(&self) -> String {
        hex::lower(&Sha256::digest(self.text.as_bytes())[..6])
    }
}

impl FromStr for IdempotencyKey {
    type Err = Error;

    /// Parses a key as [`IdempotencyKey::parse`] does.
    fn from_str(text: &str) -> Result<Self, Error> {
        Ok(Self::checked(text)?)
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdempotencyKey(#{})", self.short_hash())
    }
}
