//! The checks of texts.

use super::refused::{EventError, EventField};

/// Refuses a text that is blank, longer than `limit` characters, or has a control character.
pub(super) fn check(field: EventField, text: &str, limit: usize) -> Result<(), EventError> {
    check_chars(field, text, limit, "all but control characters", |c| {
        !c.is_control()
    })
}

/// Refuses a text that is blank, longer than `limit` characters, or has a character that is not `allowed`.
pub(super) fn check_chars(
    field: EventField,
    text: &str,
    limit: usize,
    words: &'static str,
    allowed: impl Fn(char) -> bool,
) -> Result<(), EventError> {
    if text.trim().is_empty() {
        return Err(EventError::Blank { field });
    }
    if let Some((index, found)) = text.chars().enumerate().find(|(_, c)| !allowed(*c)) {
        return Err(EventError::Character {
            field,
            found,
            index,
            allowed: words,
        });
    }
    let length = text.chars().count();
    if length > limit {
        return Err(EventError::TooLong {
            field,
            limit,
            length,
        });
    }
    Ok(())
}

/// Whether a character may stand in a topic: a broker splits its protocol's lines at white space.
pub(super) fn is_topic(c: char) -> bool {
    !c.is_control() && !c.is_whitespace()
}

/// Whether a character may stand in a URI-reference (RFC 3986, section 2).
pub(super) fn is_uri(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c)
}

/// Whether a character may stand in the name of a header: a token (RFC 9110, section 5.6.2), in lower case.
pub(super) fn is_header_name(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || "!#$%&'*+-.^_`|~".contains(c)
}

/// Whether a character may stand in the value of a header, in every protocol that has headers.
pub(super) fn is_header_value(c: char) -> bool {
    c == ' ' || c.is_ascii_graphic()
}

/// Whether a text is a `traceparent` of version 00 (W3C Trace Context, section 3.2).
pub(super) fn is_traceparent(text: &str) -> bool {
    let mut parts = text.split('-');
    let mut next = |length: usize| {
        let part = parts.next()?;
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (part.len() == length && part.bytes().all(digit)).then_some(part)
    };
    let zeroes = |part: &str| part.bytes().all(|byte| byte == b'0');
    next(2) == Some("00")
        && next(32).is_some_and(|trace| !zeroes(trace))
        && next(16).is_some_and(|span| !zeroes(span))
        && next(2).is_some()
        && parts.next().is_none()
}
