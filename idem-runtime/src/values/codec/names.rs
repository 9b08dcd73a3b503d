//! Keyed hashes in place of keys and scopes.

use std::fmt;

use super::key::Key;
use super::mac::{Mac, expand};
use crate::values::error::Error;
use crate::values::key::{IdempotencyKey, Scope, hex};

/// The key of the hashes that stand in place of keys and scopes. It cannot rotate: a record is found by these hashes.
///
/// A hash has 64 hexadecimal digits: HMAC-SHA-256 of the scope; and of namespace, scope and key. So one scope has one
/// hash in every namespace, by which all of it is forgotten, and one key of two scopes has two.
///
/// ```
/// use idem_runtime::codec::{Codec, Key, KeyId, Keyring, NameKey, Protection};
///
/// static PAYMENTS: Codec = Codec::new("PAYMENTS"); // `codec = PAYMENTS` in the attribute
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // From the secrets of the service: two keys, each used for nothing else.
/// let payloads = Key::from_bytes([1; 32]);
/// let names = NameKey::new(&Key::from_bytes([2; 32]));
/// PAYMENTS.install(Protection::encrypted(Keyring::new(KeyId::new(1), &payloads)).hash_names(names))?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct NameKey {
    mac: Mac,
    /// Tells two keys apart without either.
    check: [u8; 32],
}

const SCOPE: u8 = 1;
const KEY: u8 = 2;
const CHECK: u8 = 3;

impl NameKey {
    /// Creates the key of the hashes from a key that is used for nothing else.
    pub fn new(key: &Key) -> Self {
        let mac = Mac::new(&expand(key.as_bytes(), b"idem names 1"));
        let check = mac.of(CHECK, &[]);
        Self { mac, check }
    }

    /// Returns scope and key as they are stored. [`Scope::GLOBAL`] hides nothing, and stays.
    pub(super) fn hash(
        &self,
        namespace: &str,
        scope: &Scope,
        key: &IdempotencyKey,
    ) -> Result<(Scope, IdempotencyKey), Error> {
        let parts = [namespace, scope.as_str(), key.as_str()].map(str::as_bytes);
        let key = hex::lower(&self.mac.of(KEY, &parts));
        let scope = if *scope == Scope::GLOBAL {
            Scope::GLOBAL
        } else {
            Scope::new(hex::lower(
                &self.mac.of(SCOPE, &[scope.as_str().as_bytes()]),
            ))?
        };
        Ok((scope, key.parse()?))
    }
}

impl PartialEq for NameKey {
    fn eq(&self, other: &Self) -> bool {
        self.check == other.check
    }
}

impl Eq for NameKey {}

impl fmt::Debug for NameKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NameKey(..)")
    }
}
