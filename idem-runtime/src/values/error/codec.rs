//! Why a payload, a fingerprint or a name that may not stand in clear could not be written or read.

/// Why an operation with a codec was refused. The body did not run, or everything was rolled back.
///
/// No text shows a key, a name or a payload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecFault {
    /// Nothing was installed in the codec that the operation names. It never writes in clear instead.
    #[error(
        "the codec `{codec}` has no keys in this process; the body did not run, and nothing was written: call `{codec}.install(..)` at start-up, before the first call"
    )]
    NotInstalled {
        /// The name that the codec was created with.
        codec: &'static str,
    },
    /// The record was written under a key that this process does not have.
    #[error(
        "the record's {what} is under the key with id {key_id}, which this process does not have; the body did not run: add it to the keyring, for reading (`Keyring::and`)"
    )]
    UnknownKey {
        /// `result`, `failure`, `request` or `fingerprint`.
        what: &'static str,
        /// The id of the key.
        key_id: u32,
    },
    /// The payload is not what was recorded for this key, operation and column: it was altered, or moved here from
    /// another record or column, or the key with this id is another one.
    #[error(
        "the record's {what} is not authentic under the key with id {key_id}; the body did not run: it was altered or moved from another record or column, or the key with this id is another one"
    )]
    NotAuthentic {
        /// `result`, `failure` or `request`.
        what: &'static str,
        /// The id of the key.
        key_id: u32,
    },
    /// The record is in clear, and the operation's codec encrypts. Somebody without the keys may have written it.
    #[error(
        "the record's {what} is in clear, and the codec of its operation encrypts; the body did not run: while records from before are kept, install the codec with `accept_clear()`"
    )]
    InClear {
        /// `result`, `failure` or `request`.
        what: &'static str,
    },
    /// The payload would be longer than the limit when it is decompressed. It was not decompressed.
    #[error(
        "the record's {what} says that it has {size} bytes decompressed, and the limit of the codec is {limit} (`Compression::limit`); the body did not run"
    )]
    TooLarge {
        /// `result`, `failure` or `request`.
        what: &'static str,
        /// The size that the frame states, in bytes.
        size: u64,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The payload cannot be decompressed, or does not state its size.
    #[error("the record's {what} is no zstd frame that states its size; the body did not run")]
    Damaged {
        /// `result`, `failure` or `request`.
        what: &'static str,
    },
    /// The codec hashes keys and scopes, and was to be installed again with another key for that, or none, or was
    /// installed without one before. Under another hash no record of before is found, and bodies run again.
    #[error(
        "the codec `{codec}` is installed already, and the key that hashes keys and scopes is another one now; the codec is unchanged: that key cannot rotate"
    )]
    NamesChanged {
        /// The name that the codec was created with.
        codec: &'static str,
    },
    /// A payload is longer than can be encrypted at once.
    #[error("the {what} is longer than can be encrypted; everything was rolled back")]
    TooLong {
        /// `result`, `failure` or `request`.
        what: &'static str,
    },
}
