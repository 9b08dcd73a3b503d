//! The keyed fingerprint: whoever reads the table cannot try requests against it.

use super::key::Keyring;
use crate::values::error::CodecFault;
use crate::values::fingerprint::Fingerprint;
use crate::values::identity::Identity;

/// The bytes of the key's id in a keyed fingerprint. Its 32 bytes are the id of the key (4 bytes, big-endian) and the first 28 bytes
/// of HMAC-SHA-256 over the byte 2, and namespace, scope and key as the table holds them, operation and canonical JSON,
/// each behind its length in bytes (8 bytes, big-endian). Equal requests under two keys have two fingerprints: whoever
/// may send requests of his own cannot compare theirs with another's.
const ID: usize = 4;

/// What a fingerprint is computed of: identity, operation and canonical JSON.
pub(super) type ComparedRequest<'a> = (&'a Identity, &'a str, &'a [u8]);

/// Computes the fingerprint under the current key.
pub(super) fn current(
    keys: &Keyring,
    compared: ComparedRequest<'_>,
) -> Result<Fingerprint, CodecFault> {
    under(keys, keys.current().get(), compared)
}

/// Computes the fingerprint under the key of the recorded one. `computed` is the one under the current key, if it is
/// computed already.
pub(super) fn under_that_of(
    keys: &Keyring,
    recorded: Fingerprint,
    computed: Option<Fingerprint>,
    compared: ComparedRequest<'_>,
) -> Result<Fingerprint, CodecFault> {
    match computed {
        Some(computed) if computed.key_id() == recorded.key_id() => Ok(computed),
        _ => under(keys, recorded.key_id(), compared),
    }
}

fn under(
    keys: &Keyring,
    key_id: u32,
    (identity, operation, canonical): ComparedRequest<'_>,
) -> Result<Fingerprint, CodecFault> {
    let key = keys.find(key_id).ok_or(CodecFault::UnknownKey {
        what: "fingerprint",
        key_id,
    })?;
    let texts = [
        identity.namespace().as_bytes(),
        identity.scope().as_str().as_bytes(),
        identity.key().as_str().as_bytes(),
        operation.as_bytes(),
        canonical,
    ];
    let code = key.fingerprints.of(2, &texts);
    let mut bytes = [0; 32];
    bytes[..ID].copy_from_slice(&key_id.to_be_bytes());
    bytes[ID..].copy_from_slice(&code[..32 - ID]);
    Ok(Fingerprint::from_bytes(bytes))
}
