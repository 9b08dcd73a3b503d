//! Keys, and the ring that holds the one to write under and those to read under.

use std::collections::BTreeMap;
use std::fmt;

use aes_gcm_siv::Aes256GcmSiv;
use aes_gcm_siv::aead::KeyInit as _;
use zeroize::Zeroize as _;

use super::mac::{Mac, expand};
use crate::values::error::{Error, Field, Invalid, Reason};
use crate::values::key::hex;

/// The id of a key: it stands in clear before each payload that is encrypted under the key, and in each fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(u32);

impl KeyId {
    /// Creates an id. An id belongs to one key for ever.
    pub const fn new(id: u32) -> Self {
        Self(id)
    }

    /// Returns the number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// A key of 256 bits, from which the key of the payloads and that of the fingerprints are derived. It is overwritten
/// when it is dropped, and `Debug` does not show it.
#[derive(Clone)]
pub struct Key([u8; 32]);

impl Key {
    /// Creates a key of 32 random bytes, of a generator fit for keys. A password is no key.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads a key of 64 hexadecimal digits, as `openssl rand -hex 32` prints them.
    ///
    /// # Errors
    /// [`Error::Invalid`] of [`Field::CodecKey`] for anything else. It does not quote the text.
    pub fn from_hex(text: &str) -> Result<Self, Error> {
        let invalid = || Invalid::new(Field::CodecKey, Reason::NotHex { digits: 64 });
        let mut bytes = hex::read(text.trim().as_bytes()).ok_or_else(invalid)?;
        let key = <[u8; 32]>::try_from(bytes.as_slice()).map(Self);
        bytes.zeroize();
        key.map_err(|_| invalid().into())
    }

    pub(super) const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// The key to write under, and the keys to read under.
///
/// ```
/// use idem_runtime::codec::{Key, KeyId, Keyring};
///
/// # let (old, new) = (Key::from_bytes([1; 32]), Key::from_bytes([2; 32]));
/// // Writes under 2; records from before the rotation are read under 1.
/// let keys = Keyring::new(KeyId::new(2), &new).and(KeyId::new(1), &old);
/// assert_eq!(keys.current(), KeyId::new(2));
/// ```
#[derive(Clone)]
pub struct Keyring {
    current: u32,
    keys: BTreeMap<u32, Derived>,
}

/// What is used of a key: never the key itself, and no derived key for two purposes.
#[derive(Clone)]
pub(super) struct Derived {
    pub(super) cipher: Aes256GcmSiv,
    pub(super) fingerprints: Mac,
}

impl Derived {
    fn of(key: &Key) -> Self {
        let mut payloads = expand(&key.0, b"idem payload 1");
        let mut fingerprints = expand(&key.0, b"idem fingerprint 1");
        let derived = Self {
            cipher: Aes256GcmSiv::new(&payloads.into()),
            fingerprints: Mac::new(&fingerprints),
        };
        payloads.zeroize();
        fingerprints.zeroize();
        derived
    }
}

impl Keyring {
    /// Creates a ring that writes under this key, and reads what is written under it.
    pub fn new(id: KeyId, key: &Key) -> Self {
        Self {
            current: id.0,
            keys: BTreeMap::from([(id.0, Derived::of(key))]),
        }
    }

    /// Adds a key that records are read under: one of before a rotation, or the next one, which other processes may
    /// write under already. A key of the same id is replaced.
    #[must_use]
    pub fn and(mut self, id: KeyId, key: &Key) -> Self {
        self.keys.insert(id.0, Derived::of(key));
        self
    }

    /// Returns the id of the key that is written under.
    pub const fn current(&self) -> KeyId {
        KeyId(self.current)
    }

    /// Returns the ids of all keys that are read under.
    pub fn ids(&self) -> impl Iterator<Item = KeyId> + '_ {
        self.keys.keys().copied().map(KeyId)
    }

    pub(super) fn find(&self, id: u32) -> Option<&Derived> {
        self.keys.get(&id)
    }
}

impl fmt::Debug for Keyring {
    /// Shows the ids alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring")
            .field("current", &self.current)
            .field("ids", &self.keys.keys())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_64_hexadecimal_digits_and_is_never_shown() {
        let digits = "0F".repeat(32);
        let read = Key::from_hex(&format!("{digits}\n")).unwrap();
        assert_eq!(*read.as_bytes(), [15; 32]);
        for bad in ["", "0f", &digits[1..], &"0g".repeat(32), &"0f".repeat(33)] {
            let refused = Key::from_hex(bad).unwrap_err();
            assert!(
                bad.is_empty() || !refused.to_string().contains(bad),
                "{refused}"
            );
        }
        let key = Key::from_hex(&digits).unwrap();
        let shown = format!("{key:?} {:?}", Keyring::new(KeyId::new(7), &key));
        assert_eq!(shown, "Key(..) Keyring { current: 7, ids: [7] }");
    }
}
