//! What a codec does to the payloads, the fingerprint and the names of a record.

use std::fmt;

#[cfg(feature = "zstd")]
use super::compression::Compression;
#[cfg(feature = "encrypt")]
use super::key::Keyring;
#[cfg(feature = "encrypt")]
use super::names::NameKey;

/// What a codec does: encrypts, compresses, hashes keys and scopes.
///
/// `Debug` shows what is on, and no key.
pub struct Protection {
    #[cfg(feature = "encrypt")]
    pub(super) keys: Option<Keyring>,
    #[cfg(feature = "encrypt")]
    pub(super) names: Option<NameKey>,
    #[cfg(feature = "zstd")]
    pub(super) compression: Option<Compression>,
    pub(super) accepts_clear: bool,
    pub(super) writes_clear: bool,
}

impl Protection {
    const NONE: Self = Self {
        #[cfg(feature = "encrypt")]
        keys: None,
        #[cfg(feature = "encrypt")]
        names: None,
        #[cfg(feature = "zstd")]
        compression: None,
        accepts_clear: false,
        writes_clear: false,
    };

    /// Encrypts requests, results and failures under the current key of the ring, and keys the fingerprint.
    #[cfg(feature = "encrypt")]
    pub fn encrypted(keys: Keyring) -> Self {
        Self {
            keys: Some(keys),
            ..Self::NONE
        }
    }

    /// Compresses requests, results and failures, and leaves them and the fingerprint readable for everybody.
    #[cfg(feature = "zstd")]
    pub fn compressed(compression: Compression) -> Self {
        Self {
            compression: Some(compression),
            ..Self::NONE
        }
    }

    /// Compresses before encrypting.
    ///
    /// The length of what is stored then depends on the content: whoever can choose a part of a payload and sees
    /// lengths can guess the rest (as CRIME and BREACH did). Use it only where no payload holds a secret beside what
    /// another party can choose.
    #[cfg(feature = "zstd")]
    #[must_use]
    pub fn compress_first(mut self, compression: Compression) -> Self {
        self.compression = Some(compression);
        self
    }

    /// Stores a keyed hash in place of the key and of the scope. **This key cannot rotate**: under another one no
    /// record of before is found, and bodies run again. Begin with it in a namespace without records.
    #[cfg(feature = "encrypt")]
    #[must_use]
    pub fn hash_names(mut self, key: NameKey) -> Self {
        self.names = Some(key);
        self
    }

    /// Reads records in clear too: those from before the operation had this codec. Without it they are refused,
    /// because whoever can write to the table could otherwise replace a record by one of his own.
    #[must_use]
    pub fn accept_clear(mut self) -> Self {
        self.accepts_clear = true;
        self
    }

    /// Writes in clear for now, and reads both: for the time in which builds without this codec still run. See
    /// [how to begin](crate::codec#beginning-and-rotating).
    #[must_use]
    pub fn write_clear(mut self) -> Self {
        (self.accepts_clear, self.writes_clear) = (true, true);
        self
    }

    /// Returns whether the payloads are encrypted.
    pub(super) fn encrypts(&self) -> bool {
        #[cfg(feature = "encrypt")]
        {
            self.keys.is_some()
        }
        #[cfg(not(feature = "encrypt"))]
        {
            let _ = self;
            false
        }
    }

    /// Returns whether names are hashed.
    pub(crate) fn hashes_names(&self) -> bool {
        #[cfg(feature = "encrypt")]
        {
            self.names.is_some()
        }
        #[cfg(not(feature = "encrypt"))]
        {
            let _ = self;
            false
        }
    }

    /// Returns whether names are hashed as by `other`.
    pub(super) fn hashes_names_as(&self, other: &Self) -> bool {
        #[cfg(feature = "encrypt")]
        {
            self.names == other.names
        }
        #[cfg(not(feature = "encrypt"))]
        {
            let _ = (self, other);
            true
        }
    }
}

impl fmt::Debug for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Protection");
        #[cfg(feature = "encrypt")]
        shown
            .field("keys", &self.keys)
            .field("hashes_names", &self.names.is_some());
        #[cfg(feature = "zstd")]
        shown.field("compression", &self.compression);
        shown
            .field("accepts_clear", &self.accepts_clear)
            .field("writes_clear", &self.writes_clear)
            .finish()
    }
}
