//! AES-256-GCM-SIV (RFC 8452) of a payload, bound to the record and the column that it stands in.

use aes_gcm_siv::aead::AeadInOut as _;
use aes_gcm_siv::{Nonce, Tag};
use sha2::{Digest as _, Sha256};

use super::column::{Binding, Column};
use super::key::Keyring;
use crate::values::envelope::{COMPRESSED_AND_ENCRYPTED, ENCRYPTED, HEAD, NONCE, TAG};
use crate::values::error::CodecFault;
use crate::values::record::AttemptId;

/// Encrypts a payload under the current key.
///
/// The nonce is derived from the random id of the attempt and the column, so an attempt that writes the same payload
/// again (the answer to its first write was lost) writes the same bytes. Under GCM-SIV a nonce that comes twice shows
/// no more than that.
pub(super) fn encrypt(
    keys: &Keyring,
    binding: Binding<'_>,
    column: Column,
    attempt_id: AttemptId,
    (payload, is_compressed): (&[u8], bool),
) -> Result<Vec<u8>, CodecFault> {
    let key_id = keys.current().get();
    let what = column.name();
    let key = keys
        .find(key_id)
        .ok_or(CodecFault::UnknownKey { what, key_id })?;
    let nonce = nonce(attempt_id, column);
    let mut envelope = Vec::with_capacity(HEAD + payload.len() + TAG);
    envelope.push(if is_compressed {
        COMPRESSED_AND_ENCRYPTED
    } else {
        ENCRYPTED
    });
    envelope.extend(key_id.to_be_bytes());
    envelope.extend(nonce);
    let bound = associated(binding, column, &envelope);
    envelope.extend_from_slice(payload);
    let tag = key
        .cipher
        .encrypt_inout_detached(&Nonce::from(nonce), &bound, (&mut envelope[HEAD..]).into())
        .map_err(|_| CodecFault::TooLong { what })?;
    envelope.extend_from_slice(&tag);
    Ok(envelope)
}

/// Decrypts what follows the head of an envelope.
pub(super) fn decrypt(
    keys: &Keyring,
    binding: Binding<'_>,
    column: Column,
    key_id: u32,
    (head, ciphertext): (&[u8], &[u8]),
) -> Result<Vec<u8>, CodecFault> {
    let what = column.name();
    let not_authentic = || CodecFault::NotAuthentic { what, key_id };
    let key = keys
        .find(key_id)
        .ok_or(CodecFault::UnknownKey { what, key_id })?;
    let mut nonce = [0; NONCE];
    nonce.copy_from_slice(&head[HEAD - NONCE..]);
    let (ciphertext, tag) = ciphertext
        .split_last_chunk::<TAG>()
        .ok_or_else(not_authentic)?;
    let bound = associated(binding, column, head);
    let mut payload = ciphertext.to_vec();
    key.cipher
        .decrypt_inout_detached(
            &Nonce::from(nonce),
            &bound,
            payload.as_mut_slice().into(),
            &Tag::from(*tag),
        )
        .map_err(|_| not_authentic())?;
    Ok(payload)
}

fn nonce(attempt_id: AttemptId, column: Column) -> [u8; NONCE] {
    let mut hash = Sha256::new_with_prefix(b"idem nonce 1");
    hash.update(attempt_id.as_uuid().as_bytes());
    hash.update(column.name());
    let digest: [u8; 32] = hash.finalize().into();
    let mut nonce = [0; NONCE];
    nonce.copy_from_slice(&digest[..NONCE]);
    nonce
}

/// The data that a payload is bound to: identity, operation, column, and the head of its envelope. Each text stands
/// behind its length.
fn associated(binding: Binding<'_>, column: Column, head: &[u8]) -> Vec<u8> {
    let Binding {
        identity,
        operation,
    } = binding;
    let texts = [
        "idem payload 1",
        identity.namespace(),
        identity.scope().as_str(),
        identity.key().as_str(),
        operation,
        column.name(),
    ];
    let length: usize = texts.iter().map(|text| 8 + text.len()).sum();
    let mut bound = Vec::with_capacity(length + head.len());
    for text in texts {
        bound.extend((text.len() as u64).to_be_bytes());
        bound.extend_from_slice(text.as_bytes());
    }
    bound.extend_from_slice(head);
    bound
}
