//! The form of a payload that is not plain JSON: its first byte says how the rest is read.
//!
//! | first byte | form |
//! |---|---|
//! | 32 and above | JSON: no JSON text begins with a control character |
//! | 1 | a zstd frame that states its size |
//! | 2 | the id of a key (4 bytes, big-endian), a nonce (12 bytes), AES-256-GCM-SIV of the JSON (with its tag, 16 bytes) |
//! | 3 | as 2, of a zstd frame |
//!
//! Every build reads the head, also one without keys: it tells an operator which key a payload needs.

use crate::values::error::Error;

/// Payload codec 2: each payload says by its first byte how it is read.
pub(crate) const CODEC_ENVELOPE: i16 = 2;

pub(crate) const COMPRESSED: u8 = 1;
pub(crate) const ENCRYPTED: u8 = 2;
pub(crate) const COMPRESSED_AND_ENCRYPTED: u8 = 3;

/// The bytes of a nonce.
pub(crate) const NONCE: usize = 12;
/// The bytes before the ciphertext.
pub(crate) const HEAD: usize = 1 + 4 + NONCE;
/// The bytes of the tag behind the ciphertext.
pub(crate) const TAG: usize = 16;

/// A payload by its form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Envelope<'a> {
    Clear(&'a [u8]),
    Compressed(&'a [u8]),
    Encrypted {
        key_id: u32,
        nonce: &'a [u8],
        is_compressed: bool,
        /// All before the ciphertext.
        head: &'a [u8],
        ciphertext: &'a [u8],
    },
}

impl<'a> Envelope<'a> {
    /// Reads the head of a payload.
    ///
    /// # Errors
    /// [`Error::UnknownState`] for a form that this build does not know, or an envelope that is cut short.
    pub(crate) fn read(payload: &'a [u8]) -> Result<Self, Error> {
        let unknown = |value| Error::UnknownState {
            what: "form of a payload",
            value,
        };
        match payload {
            [first, ..] if *first >= b' ' || matches!(first, b'\t' | b'\n' | b'\r') => {
                Ok(Self::Clear(payload))
            }
            [COMPRESSED, frame @ ..] => Ok(Self::Compressed(frame)),
            [form @ (ENCRYPTED | COMPRESSED_AND_ENCRYPTED), rest @ ..]
                if payload.len() >= HEAD + TAG =>
            {
                let (head, ciphertext) = payload.split_at(HEAD);
                let mut id = [0; 4];
                id.copy_from_slice(&rest[..4]);
                Ok(Self::Encrypted {
                    key_id: u32::from_be_bytes(id),
                    nonce: &head[HEAD - NONCE..],
                    is_compressed: *form == COMPRESSED_AND_ENCRYPTED,
                    head,
                    ciphertext,
                })
            }
            [first, ..] => Err(unknown((*first).into())),
            [] => Err(unknown(-1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_read_as_json_and_a_head_as_what_it_says() {
        for json in [&b"{}"[..], b"1", b"\"a\"", b"null", b" 1"] {
            assert!(Envelope::read(json).is_ok_and(|read| read == Envelope::Clear(json)));
        }
        let mut protected = vec![ENCRYPTED, 0, 0, 1, 2];
        protected.extend([7; NONCE]);
        protected.extend([9; TAG]);
        let Ok(Envelope::Encrypted {
            key_id,
            nonce,
            is_compressed,
            head,
            ciphertext,
        }) = Envelope::read(&protected)
        else {
            panic!("not read");
        };
        assert_eq!(
            (key_id, nonce, is_compressed),
            (258, &[7; NONCE][..], false)
        );
        assert_eq!((head.len(), ciphertext), (HEAD, &[9; TAG][..]));
    }

    #[test]
    fn what_is_cut_short_or_of_another_form_is_unknown() {
        let mut cut = vec![ENCRYPTED; HEAD + TAG - 1];
        for payload in [
            vec![],
            vec![0],
            vec![4, 1],
            vec![31],
            std::mem::take(&mut cut),
        ] {
            let read = Envelope::read(&payload);
            assert!(
                matches!(read, Err(Error::UnknownState { .. })),
                "{payload:?}"
            );
        }
    }
}
