//! Texts in headers.

#[cfg(any(feature = "nats", feature = "webhook"))]
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

/// What is encoded in the value of a CloudEvents header, beside all that is not ASCII (CloudEvents NATS and HTTP bindings
/// 1.0.2, section 3.1.3.2).
#[cfg(any(feature = "nats", feature = "webhook"))]
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'%');

/// Returns the value of a CloudEvents attribute as a header of NATS and HTTP has it.
#[cfg(any(feature = "nats", feature = "webhook"))]
pub(super) fn attribute_value(value: &str) -> String {
    utf8_percent_encode(value, ENCODED).to_string()
}

/// The most characters of a detail.
const DETAIL_MAX: usize = 1000;

/// Makes a sentence fit for a header of any protocol: printable ASCII, and not too long.
pub(super) fn header_value(text: &str) -> String {
    text.chars()
        .take(DETAIL_MAX)
        .map(|c| match c {
            ' '..='~' => c,
            _ if c.is_whitespace() || c.is_control() => ' ',
            _ => '?',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::header_value;

    #[test]
    fn a_detail_cannot_begin_another_header() {
        assert_eq!(header_value("lost\r\nX-Evil: é"), "lost  X-Evil: ?");
        assert_eq!(header_value(&"a".repeat(2000)).len(), 1000);
    }
}
