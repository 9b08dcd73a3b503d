//! The identity of a record: namespace, scope and key.

use std::borrow::Cow;
use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::values::key::{IdempotencyKey, Namespace, Scope, hex};

/// The primary key of a record.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    namespace: Cow<'static, str>,
    scope: Scope,
    key: IdempotencyKey,
}

impl Identity {
    /// Creates the identity of `key` in this namespace and scope. The scope that the key itself
    /// carries is ignored.
    pub(crate) fn new(namespace: &Namespace, scope: Scope, key: IdempotencyKey) -> Self {
        Self {
            namespace: Cow::Owned(namespace.as_str().to_owned()),
            scope,
            key,
        }
    }

    pub(crate) const fn of_operation(
        namespace: &'static str,
        scope: Scope,
        key: IdempotencyKey,
    ) -> Self {
        Self {
            namespace: Cow::Borrowed(namespace),
            scope,
            key,
        }
    }

    /// Returns the consumer's key space.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the tenant or principal.
    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Returns the caller's key.
    pub(crate) fn key(&self) -> &IdempotencyKey {
        &self.key
    }

    /// Returns the key to send to an external service. It is the same for every attempt of this
    /// key, differs for each step, and does not reveal the key. It has the form of a UUID version 8
    /// (RFC 9562, section 5.8) over 122 bits of a SHA-256, so that it fits the idempotency header
    /// of every provider.
    pub(crate) fn external_key(&self, step: &str) -> String {
        let mut hash = Sha256::new();
        for part in [
            "idem external key 1",
            self.namespace(),
            self.scope.as_str(),
            self.key.as_str(),
            step,
        ] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        let digest: [u8; 32] = hash.finalize().into();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        let key = uuid::Builder::from_custom_bytes(bytes).into_uuid();
        key.hyphenated().to_string()
    }

    /// Returns the hash of this identity in one table.
    pub(crate) fn lock_key(&self, table: &str) -> LockKey {
        let mut hash = Sha256::new();
        for part in [
            table,
            self.namespace(),
            self.scope.as_str(),
            self.key.as_str(),
        ] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        let digest: [u8; 32] = hash.finalize().into();
        let mut lock_key = [0; 16];
        lock_key.copy_from_slice(&digest[..16]);
        LockKey(lock_key)
    }
}

impl fmt::Debug for Identity {
    /// Prints a hash in place of the key: keys may be personal data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("namespace", &self.namespace)
            .field("scope", &self.scope)
            .field("key", &self.key)
            .finish()
    }
}

/// 128 bits of a SHA-256 of (table, namespace, scope, key). Identifies a record in locks and
/// settings, which cannot hold the texts. If two identities had the same hash, each would be
/// refused as in flight while the other runs; neither would run twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LockKey([u8; 16]);

impl LockKey {
    /// Returns the number of the advisory lock.
    #[cfg(feature = "postgres")]
    pub(crate) fn lock_number(self) -> i64 {
        let mut number = [0; 8];
        number.copy_from_slice(&self.0[..8]);
        i64::from_be_bytes(number)
    }
}

impl fmt::Display for LockKey {
    /// Writes 32 lower-case hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::lower(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(namespace: &'static str, scope: &str, key: &str) -> Identity {
        let scope = if scope.is_empty() {
            Scope::GLOBAL
        } else {
            Scope::new(scope).unwrap()
        };
        Identity::of_operation(
            namespace,
            scope,
            IdempotencyKey::parse(Some(key)).unwrap().unwrap(),
        )
    }

    #[test]
    fn parts_cannot_run_into_each_other() {
        let a = identity("n", "ab", "c");
        let b = identity("n", "a", "bc");
        assert!(a.lock_key("t") != b.lock_key("t"));
        assert!(a.lock_key("t") != a.lock_key("u"));
        assert!(a.lock_key("t") == identity("n", "ab", "c").lock_key("t"));
    }

    #[test]
    fn an_external_key_is_stable_and_differs_by_every_part_and_step() {
        let key = identity("n", "ab", "c").external_key("");
        // Providers have stored these keys: the value must never change.
        assert_eq!(key, "b85a8937-1177-8ef4-9777-7d7161f66a97");
        for other in [
            identity("n", "a", "bc").external_key(""),
            identity("m", "ab", "c").external_key(""),
            identity("n", "", "c").external_key(""),
            identity("n", "ab", "c").external_key("capture"),
        ] {
            assert_ne!(other, key);
            assert_eq!(other.len(), 36);
        }
    }

    #[test]
    fn debug_does_not_show_the_key() {
        let text = format!("{:?}", identity("n", "tenant", "secret-key"));
        assert!(!text.contains("secret-key"), "{text}");
    }
}
