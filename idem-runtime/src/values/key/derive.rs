//! Keys that are derived: from the values that identify an effect in the business, or from another key.

use sha2::{Digest, Sha256};

use super::idempotency::IdempotencyKey;
use super::scope::Scope;
use super::{hex, text};
use crate::values::error::{Error, Field, Invalid, Reason};

impl IdempotencyKey {
    /// Derives keys from the values that identify an effect in the business, such as a tenant and an
    /// order number.
    ///
    /// The text of a key is a SHA-256 in lower-case hexadecimal. It hashes the number of parts, then
    /// each part preceded by its length in bytes. The count and the lengths are 4 bytes each,
    /// big-endian. The parts are hashed as UTF-8 without trimming or normalisation. So `("ab", "c")`
    /// and `("a", "bc")` give different keys. The encoding is stable: every release derives the same
    /// key from the same parts.
    ///
    /// Derives the key of `parts`, in [`Scope::GLOBAL`]: the parts already identify the tenant.
    ///
    /// ```
    /// use idem_runtime::IdempotencyKey;
    ///
    /// let key = IdempotencyKey::derive(["acme", "order-17"])?;
    /// assert_eq!(key, IdempotencyKey::derive(["acme", "order-17"])?);
    /// assert_ne!(key, IdempotencyKey::derive(["acme", "order-18"])?);
    /// # Ok::<(), idem_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Invalid`] of [`Field::KeyPart`] if there is no part, or a part is blank: requests that
    ///   lack the same part would share a key.
    /// - [`Error::Invalid`] of [`Field::KeyPart`] if a part is longer than `u32::MAX` bytes, or of
    ///   [`Field::Key`] if there are more than `u32::MAX` parts.
    pub fn derive(
        parts: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<IdempotencyKey, Error> {
        let parts: Vec<_> = parts.into_iter().collect();
        let text = encode(&parts)?;
        Ok(IdempotencyKey::derived(text, Some(Scope::GLOBAL)))
    }

    /// Derives the key of a step inside a handler, or of one item of a batch.
    ///
    /// The same key and label always give the same child key, in the same scope. Its text is
    /// encoded like that of [`derive`](Self::derive), from three parts: `child`, the text of this
    /// key, and the label.
    ///
    /// ```
    /// use idem_runtime::IdempotencyKey;
    ///
    /// let batch = "8e03978e".parse::<IdempotencyKey>()?.global();
    /// assert_eq!(batch.child("item 1")?, batch.child("item 1")?);
    /// assert_ne!(batch.child("item 1")?, batch.child("item 2")?);
    /// # Ok::<(), idem_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Invalid`] of [`Field::ChildLabel`] if the label is blank.
    /// - [`Error::Invalid`] of [`Field::KeyPart`] if the label is longer than `u32::MAX` bytes.
    pub fn child(&self, label: &str) -> Result<Self, Error> {
        if text::is_blank(label) {
            return Err(Invalid::new(Field::ChildLabel, Reason::Empty).into());
        }
        let text = encode(&["child", self.as_str(), label])?;
        Ok(Self::derived(text, self.scope().cloned()))
    }
}

/// Returns the text of the key of `parts`.
fn encode<P: AsRef<str>>(parts: &[P]) -> Result<String, Invalid> {
    if parts.is_empty() {
        return Err(Invalid::new(Field::KeyPart(0), Reason::Empty));
    }
    let mut hash = Sha256::new();
    hash.update(prefix(parts.len(), Field::Key)?);
    for (index, part) in parts.iter().enumerate() {
        let part = part.as_ref();
        if text::is_blank(part) {
            return Err(Invalid::new(Field::KeyPart(index), Reason::Empty));
        }
        hash.update(prefix(part.len(), Field::KeyPart(index))?);
        hash.update(part.as_bytes());
    }
    Ok(hex::lower(&hash.finalize()))
}

fn prefix(length: usize, field: Field) -> Result<[u8; 4], Invalid> {
    let limit = u32::MAX;
    match u32::try_from(length) {
        Ok(length) => Ok(length.to_be_bytes()),
        Err(_) => Err(Invalid::new(
            field,
            Reason::TooLong {
                limit: usize::try_from(limit).unwrap_or(usize::MAX),
                length,
            },
        )),
    }
}
