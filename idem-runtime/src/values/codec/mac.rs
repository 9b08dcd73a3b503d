//! HMAC-SHA-256, and keys that are derived by it.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroize as _;

/// HMAC-SHA-256 (RFC 2104) under one key.
#[derive(Clone)]
pub(super) struct Mac(Hmac<Sha256>);

impl Mac {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        Self(hmac(key))
    }

    /// Returns the code of these texts, each behind its length, so that no character moves from one into the next.
    pub(super) fn of(&self, prefix: u8, texts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.0.clone();
        mac.update(&[prefix]);
        for text in texts {
            // No platform has a `usize` of more than 64 bits.
            mac.update(&(text.len() as u64).to_be_bytes());
            mac.update(text);
        }
        mac.finalize().into_bytes().into()
    }
}

/// A key shorter than a block is filled up with zeros, as the RFC says.
fn hmac(key: &[u8; 32]) -> Hmac<Sha256> {
    let mut block = [0; 64];
    block[..32].copy_from_slice(key);
    let mac = Hmac::new(&block.into());
    block.zeroize();
    mac
}

/// Derives a key for one purpose: HKDF-Expand (RFC 5869, section 2.3) of one block, the key being random already.
pub(super) fn expand(key: &[u8; 32], purpose: &[u8]) -> [u8; 32] {
    let mut mac = hmac(key);
    mac.update(purpose);
    mac.update(&[1]);
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::key::hex;

    #[test]
    fn a_derived_key_is_hkdf_expands() {
        // By the standard library of Python: hmac.new(bytes(32), b"idem payload 1\x01", "sha256").
        let derived = expand(&[0; 32], b"idem payload 1");
        assert_eq!(hex::lower(&derived), EXPECTED);
    }

    #[test]
    fn texts_cannot_run_into_each_other() {
        let mac = Mac::new(&[1; 32]);
        assert_ne!(mac.of(1, &[b"ab", b"c"]), mac.of(1, &[b"a", b"bc"]));
        assert_ne!(mac.of(1, &[b"ab"]), mac.of(2, &[b"ab"]));
    }

    const EXPECTED: &str = "605963ec48cd3f7d993989c8a5a0b0f3786b295580522600db564beb0b04f50a";
}
