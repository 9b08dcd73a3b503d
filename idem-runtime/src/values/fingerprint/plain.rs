//! The search for the first byte of a string that JSON must escape, eight bytes at a time.

/// Bytes per word; also bits per byte.
pub(super) const WORD: usize = 8;

/// Returns the number of bytes before the first quote, backslash or control character.
pub(super) fn len(bytes: &[u8]) -> usize {
    let (words, tail) = bytes.as_chunks::<WORD>();
    for (index, word) in words.iter().enumerate() {
        let marks = marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return index * WORD + first(marks);
        }
    }
    let done = words.len() * WORD;
    if tail.is_empty() {
        return done;
    }
    // Read the last eight bytes; those that overlap the previous word contain nothing to escape.
    if let Some(word) = bytes.last_chunk::<WORD>() {
        let marks = marks(u64::from_le_bytes(*word));
        return if marks == 0 {
            bytes.len()
        } else {
            bytes.len() - WORD + first(marks)
        };
    }
    // The bit behind the tail bounds the result: the zero padding is marked as well.
    first(marks(word(tail)) | 1 << (tail.len() * WORD))
}

/// Returns whether a text of at most eight bytes has nothing to escape. `word` is the text, as
/// [`word`] returns it: the zero behind a shorter one is marked.
pub(super) fn is_plain(word: u64, length: usize) -> bool {
    first(marks(word)) == length
}

/// Returns the first eight bytes as a little-endian number, padded with zeros.
pub(super) fn word(bytes: &[u8]) -> u64 {
    if let Some(word) = bytes.first_chunk() {
        return u64::from_le_bytes(*word);
    }
    if let (Some(low), Some(high)) = (bytes.first_chunk(), bytes.last_chunk()) {
        // The two halves agree where they overlap.
        let high = u64::from(u32::from_le_bytes(*high)) << ((bytes.len() - 4) * 8);
        return u64::from(u32::from_le_bytes(*low)) | high;
    }
    // Of three bytes or fewer, the first, the middle and the last are all.
    let at = |index: usize| {
        bytes
            .get(index)
            .map_or(0, |byte| u64::from(*byte) << (index * 8))
    };
    at(0) | at(bytes.len() / 2) | at(bytes.len().saturating_sub(1))
}

/// Returns the index of the first marked byte; 8 if none is marked.
fn first(marks: u64) -> usize {
    marks.trailing_zeros() as usize / WORD
}

/// Sets the highest bit of each byte that is a quote, a backslash or a control character, up to and
/// including the first such byte. The bits above it are not reliable, because the subtractions may
/// borrow.
fn marks(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; WORD]);
    const HIGHEST: u64 = ONES << 7;
    let below = |bytes: u64, limit: u8| bytes.wrapping_sub(ONES * u64::from(limit)) & !bytes;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, b' ') | equal(b'"') | equal(b'\\')) & HIGHEST
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{WORD, is_plain, len, word};

    fn slowly(bytes: &[u8]) -> usize {
        let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..b' ');
        bytes.iter().position(special).unwrap_or(bytes.len())
    }

    #[test]
    fn each_byte_is_judged_by_itself_at_each_place() {
        for length in 1..=20 {
            for at in 0..length {
                for byte in 0..=u8::MAX {
                    let mut bytes = vec![b'a'; length];
                    bytes[at] = byte;
                    assert_eq!(len(&bytes), slowly(&bytes), "{bytes:?}");
                }
            }
        }
    }

    #[test]
    fn a_word_has_each_of_its_bytes_in_its_place() {
        let bytes = b"abcdefghij";
        for length in 0..=bytes.len() {
            let mut padded = [0; WORD];
            let taken = length.min(WORD);
            padded[..taken].copy_from_slice(&bytes[..taken]);
            assert_eq!(word(&bytes[..length]).to_le_bytes(), padded);
        }
    }

    #[test]
    fn a_short_text_is_plain_if_no_byte_of_it_is_escaped() {
        for length in 0..=WORD {
            assert!(is_plain(word(&vec![b'a'; length]), length), "{length}");
            for at in 0..length {
                for byte in 0..=u8::MAX {
                    let mut bytes = vec![b'a'; length];
                    bytes[at] = byte;
                    let plain = slowly(&bytes) == length;
                    assert_eq!(is_plain(word(&bytes), length), plain, "{bytes:?}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_stretch_ends_where_a_slow_look_ends_it(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(len(&bytes), slowly(&bytes));
        }

        #[test]
        fn of_bytes_that_are_special_or_nearly_so_too(
            bytes in prop::collection::vec(prop::sample::select(&b"\x00\x1f !\"#[\\]\x7f\x80\xa2\xdc\xff"[..]), 0..40)
        ) {
            prop_assert_eq!(len(&bytes), slowly(&bytes));
        }
    }
}
