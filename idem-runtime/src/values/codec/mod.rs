//! Payloads that may not stand in clear: encryption, compression, keyed fingerprints, hashed keys.
//!
//! An operation names a [`Codec`], a `static`, and the program fills it at start-up. The features `encrypt` and `zstd`
//! turn the two halves on; `docs/confidential.md` says what they protect from, what they do not, and what they cost.
//!
//! ```
//! # #[cfg(all(feature = "encrypt", feature = "macros", feature = "sqlite"))] {
//! use idem_runtime::codec::{Codec, Key, KeyId, Keyring, Protection};
//! use idem_runtime::{IdempotencyKey, idempotent};
//! use sqlx::SqliteTransaction;
//!
//! static PAYMENTS: Codec = Codec::new("PAYMENTS");
//!
//! #[idempotent(namespace = "payments", codec = PAYMENTS)]
//! async fn charge(tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey, card: &str) -> Result<u64, idem_runtime::Error> {
//!     Ok(17)
//! }
//!
//! fn main_of_yours() -> Result<(), Box<dyn std::error::Error>> {
//!     let key = Key::from_hex(&std::env::var("PAYMENTS_KEY_1")?)?;
//!     PAYMENTS.install(Protection::encrypted(Keyring::new(KeyId::new(1), &key)))?;
//!     Ok(())
//! }
//! # let _ = main_of_yours; }
//! ```
//!
//! Without the attribute, [`Operation::codec`](crate::Operation::codec) and
//! [`Store::codec`](crate::store::Store::codec) name it. All operations of a pool may name one codec.
//!
//! # What is written
//!
//! - The column `codec` is 2. Each payload says by its first byte how it is read: JSON, a zstd frame, or AES-256-GCM-SIV
//!   (RFC 8452) with the id of its key in front.
//! - An encrypted payload is bound to namespace, scope, key and operation of its record and to its column. Moved
//!   elsewhere, it is refused.
//! - The fingerprint of an operation that encrypts is HMAC-SHA-256 under a key derived from the same one, and carries
//!   the id of the key. A record from before is compared as it was written.
//!
//! # Beginning and rotating
//!
//! To begin on a table with records, install [`accept_clear`](Protection::accept_clear) and
//! [`write_clear`](Protection::write_clear) in every process first; then leave out `write_clear`; and once the
//! retention is over, leave out `accept_clear`. To rotate, add the new key to every process
//! ([`Keyring::and`]); then make it the current one; and once the retention is over, drop the old one. At each step
//! every process reads what every other one writes.

#[cfg(not(any(feature = "encrypt", feature = "zstd")))]
mod absent;
mod call_codec;
#[cfg(feature = "encrypt")]
mod cipher;
mod column;
#[cfg(feature = "zstd")]
mod compression;
#[cfg(feature = "encrypt")]
mod key;
#[cfg(feature = "encrypt")]
mod keyed;
#[cfg(feature = "encrypt")]
mod mac;
#[cfg(feature = "encrypt")]
mod names;
#[cfg(any(feature = "encrypt", feature = "zstd"))]
mod payload;
#[cfg(any(feature = "encrypt", feature = "zstd"))]
mod protection;
#[cfg(feature = "encrypt")]
mod service;
#[cfg(any(feature = "encrypt", feature = "zstd"))]
mod slot;

#[cfg(not(any(feature = "encrypt", feature = "zstd")))]
pub(crate) use self::absent::{NoCodec as Codec, NoProtection as Protection};
pub(crate) use self::call_codec::CallCodec;
pub(crate) use self::column::{Binding, Column};
#[cfg(feature = "zstd")]
pub use self::compression::{Compression, DEFAULT_LIMIT, DEFAULT_THRESHOLD};
#[cfg(feature = "encrypt")]
pub use self::key::{Key, KeyId, Keyring};
#[cfg(feature = "encrypt")]
pub use self::names::NameKey;
#[cfg(any(feature = "encrypt", feature = "zstd"))]
pub use self::protection::Protection;
#[cfg(feature = "encrypt")]
pub use self::service::{KeyService, UnwrapError, WrappedKey};
#[cfg(any(feature = "encrypt", feature = "zstd"))]
pub use self::slot::Codec;

#[cfg(all(test, feature = "encrypt"))]
mod tests;
