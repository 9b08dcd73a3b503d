//! Keys that a service keeps: data keys are unwrapped before the first call, not in it.

use std::error::Error as StdError;
use std::future::Future;

use super::key::{Key, KeyId, Keyring};

/// A service that keeps the key under which data keys are wrapped (a KMS, an HSM, a vault).
///
/// [`Keyring::unwrapped`] asks it once for each data key, at start-up and after a rotation. No call of an operation
/// asks it: a network call inside a transaction would hold the transaction's locks, and an outage of the service
/// would stop every call at once.
///
/// ```
/// use idem_runtime::codec::{Key, KeyId, KeyService, Keyring, WrappedKey};
///
/// struct Vault; // a client of yours
///
/// impl KeyService for Vault {
///     type Error = std::io::Error;
///
///     async fn unwrap_key(&self, wrapped: &WrappedKey) -> Result<Key, Self::Error> {
///         // Here it asks the service for the plaintext of `wrapped.bytes`.
///         # let bytes = wrapped.bytes.as_slice();
///         <[u8; 32]>::try_from(bytes).map(Key::from_bytes).map_err(std::io::Error::other)
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let wrapped = |id, byte| WrappedKey { id: KeyId::new(id), bytes: vec![byte; 32] };
/// let keys = Keyring::unwrapped(&Vault, &wrapped(2, 7), &[wrapped(1, 8)]).await?;
/// assert_eq!(keys.ids().count(), 2);
/// # Ok::<(), idem_runtime::codec::UnwrapError>(()) }).unwrap();
/// ```
pub trait KeyService: Sync {
    /// Why a key could not be unwrapped.
    type Error: StdError + Send + Sync + 'static;

    /// Unwraps a data key.
    ///
    /// # Errors
    /// The service's own.
    fn unwrap_key(
        &self,
        wrapped: &WrappedKey,
    ) -> impl Future<Output = Result<Key, Self::Error>> + Send;
}

/// A data key as it is kept beside the program: encrypted by a service.
#[derive(Debug, Clone)]
pub struct WrappedKey {
    /// The id of the data key, which the payloads carry.
    pub id: KeyId,
    /// What the service unwraps.
    pub bytes: Vec<u8>,
}

/// A data key could not be unwrapped. No keyring was made.
#[derive(Debug, thiserror::Error)]
#[error("the data key with id {} could not be unwrapped", .id.get())]
pub struct UnwrapError {
    /// The id of the data key.
    pub id: KeyId,
    /// The service's error.
    pub source: Box<dyn StdError + Send + Sync>,
}

impl Keyring {
    /// Lets the service unwrap the key to write under, and those to read under.
    ///
    /// # Errors
    /// [`UnwrapError`] for the first key that the service does not unwrap.
    pub async fn unwrapped<S: KeyService>(
        service: &S,
        current: &WrappedKey,
        others: &[WrappedKey],
    ) -> Result<Self, UnwrapError> {
        let mut keys = Self::new(current.id, &unwrap(service, current).await?);
        for other in others {
            keys = keys.and(other.id, &unwrap(service, other).await?);
        }
        Ok(keys)
    }
}

async fn unwrap<S: KeyService>(service: &S, wrapped: &WrappedKey) -> Result<Key, UnwrapError> {
    let unwrapped = service.unwrap_key(wrapped).await;
    unwrapped.map_err(|error| UnwrapError {
        id: wrapped.id,
        source: Box::new(error),
    })
}
