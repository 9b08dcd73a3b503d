//! Lower-case hexadecimal.

/// Returns two hexadecimal digits for each byte.
pub(crate) fn lower(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    push_lower(&mut text, bytes);
    text
}

/// Appends two hexadecimal digits for each byte to `text`.
pub(crate) fn push_lower(text: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 0x0f)]));
    }
}

/// Decodes two hexadecimal digits, in upper or lower case, into each byte. Returns `None` if the
/// count is odd or a character is no hexadecimal digit.
#[cfg(any(feature = "encrypt", feature = "operate", feature = "postgres"))]
pub(crate) fn read(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs
        .iter()
        .map(|[high, low]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok())
        .collect()
}
