//! Texts in headers.

/// The most characters of a detail that a dead letter's header takes.
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
