//! Keys from what names an effect in the business itself.

use sha2::{Digest, Sha256};

use super::idempotency::IdempotencyKey;
use super::scope::Scope;
use super::{hex, text};
use crate::error::{Field, Invalid, Reason};

/// Makes keys from what identifies an effect in the business itself: a tenant and an order
/// number, say.
///
/// The key is the SHA-256, in lower-case hexadecimal, of the number of parts followed by the
/// parts, each preceded by its length in bytes. Count and lengths are 4 bytes, big-endian;
/// parts are UTF-8 as given, neither trimmed nor normalised. So `("ab", "c")` and
/// `("a", "bc")` are two keys, and the encoding will not change: keys made by one release
/// are those of every other.
#[derive(Debug)]
pub enum Minter {}

impl Minter {
    /// Makes the key of `parts`, in [`Scope::GLOBAL`]: the parts already say whose it is.
    ///
    /// ```
    /// use idem_runtime::key::Minter;
    ///
    /// let key = Minter::mint(["acme", "order-17"])?;
    /// assert_eq!(key, Minter::mint(["acme", "order-17"])?);
    /// assert_ne!(key, Minter::mint(["acme", "order-18"])?);
    /// # Ok::<(), idem_runtime::error::Invalid>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Invalid`] naming [`Field::KeyPart`] when a part is blank, or when there is no part:
    /// an identity with a hole in it would be shared by all that lack the same part.
    pub fn mint(
        parts: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<IdempotencyKey, Invalid> {
        let parts: Vec<_> = parts.into_iter().collect();
        let text = encode(&parts)?;
        Ok(IdempotencyKey::minted(text, Some(Scope::GLOBAL)))
    }
}

/// The text of a minted key.
pub(super) fn encode<P: AsRef<str>>(parts: &[P]) -> Result<String, Invalid> {
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
