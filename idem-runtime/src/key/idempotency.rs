//! The caller's token.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use super::limits::KEY_MAX;
use super::scope::Scope;
use super::{hex, minter, text};
use crate::error::{Field, Invalid, Reason};

/// The caller's token for one intended effect: 1 to 255 characters, no control characters.
///
/// White space around the text is trimmed, by Unicode's `White_Space`; all else is kept byte
/// for byte. A key may carry the [`Scope`] it is good for; one that was parsed carries none
/// until [`scoped`](Self::scoped) or [`global`](Self::global) says so.
///
/// A key can hold personal data, so it has no `Display`, and `Debug` shows only
/// [`short_hash`](Self::short_hash).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey {
    text: Box<str>,
    scope: Option<Scope>,
}

impl IdempotencyKey {
    /// Reads a key that may be absent, such as a header.
    ///
    /// Absent is `Ok(None)`. Present but blank is an error, not an absence: somebody meant to
    /// send a key, and running without one would not be safe to retry.
    ///
    /// # Errors
    ///
    /// [`Invalid`] naming [`Field::Key`] when the trimmed text is empty, longer than
    /// [`KEY_MAX`] characters, or has a control character.
    pub fn parse(text: Option<&str>) -> Result<Option<Self>, Invalid> {
        text.map(str::parse).transpose()
    }

    /// A key that the minter made, and whose text is therefore good.
    pub(super) fn minted(text: String, scope: Option<Scope>) -> Self {
        Self {
            text: text.into_boxed_str(),
            scope,
        }
    }

    /// The same key in `scope`, whatever scope it carried before.
    #[must_use]
    pub fn scoped(self, scope: Scope) -> Self {
        Self {
            scope: Some(scope),
            ..self
        }
    }

    /// The same key in [`Scope::GLOBAL`]: every caller who sends this text means one effect.
    #[must_use]
    pub fn global(self) -> Self {
        self.scoped(Scope::GLOBAL)
    }

    /// The scope the key carries, if somebody has said one.
    pub fn scope(&self) -> Option<&Scope> {
        self.scope.as_ref()
    }

    /// The text, trimmed.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The key of a step inside a handler, or of one item of a batch.
    ///
    /// The same key and label always give the same child, in the same scope. Its text is that
    /// of the [`Minter`](super::Minter) over the three parts `child`, this key's text and the
    /// label.
    ///
    /// # Errors
    ///
    /// [`Invalid`] naming [`Field::ChildLabel`] when the label is blank.
    pub fn child(&self, label: &str) -> Result<Self, Invalid> {
        if text::is_blank(label) {
            return Err(Invalid::new(Field::ChildLabel, Reason::Empty));
        }
        let text = minter::encode(&["child", self.as_str(), label])?;
        Ok(Self::minted(text, self.scope.clone()))
    }

    /// Stands in for the key in logs: the first 12 hexadecimal digits of the SHA-256 of its
    /// text. The scope plays no part.
    pub fn short_hash(&self) -> String {
        hex::lower(&Sha256::digest(self.text.as_bytes())[..6])
    }
}

impl FromStr for IdempotencyKey {
    type Err = Invalid;

    /// As [`IdempotencyKey::parse`], for text that is present.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        text::check(Field::Key, text, KEY_MAX)?;
        Ok(Self {
            text: text.into(),
            scope: None,
        })
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdempotencyKey(#{})", self.short_hash())
    }
}
