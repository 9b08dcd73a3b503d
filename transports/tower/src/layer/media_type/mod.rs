//! The compared form of media types.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A media type (RFC 9110, section 8.3.1): names in lower case, parameters sorted by
/// names and without their quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MediaType {
    /// `type/subtype`.
    essence: String,
    parameters: BTreeMap<String, String>,
}

impl MediaType {
    /// Parses a media type. Returns `None` if it is invalid or has a parameter twice.
    ///
    /// `charset=utf-8` is left out if the type is UTF-8 with or without it: JSON (RFC 8259,
    /// section 11) and URL-encoded forms.
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let mut rest = Rest(value.trim_ascii());
        let kind = rest.token()?;
        rest.expect_byte(b'/')?;
        let essence = format!("{kind}/{}", rest.token()?);
        let mut parameters = BTreeMap::new();
        loop {
            rest.skip_space();
            if rest.0.is_empty() {
                break;
            }
            rest.expect_byte(b';')?;
            rest.skip_space();
            // A trailing semicolon is allowed.
            if matches!(rest.0.first(), None | Some(b';')) {
                continue;
            }
            let name = rest.token()?;
            rest.expect_byte(b'=')?;
            let mut value = rest.value()?;
            if name == "charset" {
                value.make_ascii_lowercase();
            }
            if parameters.insert(name, value).is_some() {
                return None;
            }
        }
        let mut media_type = Self {
            essence,
            parameters,
        };
        let is_utf_8 = |charset: &String| charset == "utf-8" || charset == "utf8";
        let is_form = media_type.essence == "application/x-www-form-urlencoded";
        if (is_form || media_type.is_json())
            && media_type.parameters.get("charset").is_some_and(is_utf_8)
        {
            media_type.parameters.remove("charset");
        }
        Some(media_type)
    }

    /// Returns whether it is `application/json`, or a type with the suffix `+json` (RFC 6839,
    /// section 3.1).
    pub(super) fn is_json(&self) -> bool {
        self.essence == "application/json" || self.essence.ends_with("+json")
    }

    /// Returns whether its body has parts with a boundary between them (RFC 2046, section 5.1).
    pub(super) fn is_multipart(&self) -> bool {
        self.essence.starts_with("multipart/")
    }

    /// Writes the media type in its compared form.
    pub(super) fn text(&self) -> String {
        let mut text = self.essence.clone();
        for (name, value) in &self.parameters {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            // Writing to a `String` cannot fail.
            let _ = write!(text, "; {name}=\"{value}\"");
        }
        text
    }

    /// Removes and returns the boundary, which differs for each attempt.
    pub(super) fn take_boundary(&mut self) -> Option<String> {
        self.parameters.remove("boundary")
    }
}

/// The text that has not been parsed yet.
struct Rest<'v>(&'v [u8]);

impl<'v> Rest<'v> {
    fn expect_byte(&mut self, byte: u8) -> Option<()> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        (*first == byte).then_some(())
    }

    fn skip_space(&mut self) {
        self.0 = self.0.trim_ascii_start();
    }

    /// Reads bytes while `is_part` returns `true`, at least one.
    fn run(&mut self, is_part: impl Fn(u8) -> bool) -> Option<&'v [u8]> {
        let end = self.0.iter().position(|&byte| !is_part(byte));
        let (run, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        (!run.is_empty()).then_some(run)
    }

    /// Reads a token and returns it in lower case.
    fn token(&mut self) -> Option<String> {
        let token = self.run(is_token)?;
        Some(latin_1(token).to_ascii_lowercase())
    }

    /// Reads a parameter's value. An unquoted value may contain the characters of a boundary (RFC 2046,
    /// section 5.1.1), because clients leave the quotes out there.
    fn value(&mut self) -> Option<String> {
        if self.0.first() != Some(&b'"') {
            let is_part = |byte| is_token(byte) || b"()/:=?@".contains(&byte);
            return self.run(is_part).map(latin_1);
        }
        self.expect_byte(b'"')?;
        let mut value = Vec::new();
        loop {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            match byte {
                b'"' => return Some(latin_1(&value)),
                b'\\' => {
                    let (&escaped, rest) = self.0.split_first()?;
                    self.0 = rest;
                    value.push(escaped);
                }
                _ => value.push(byte),
            }
        }
    }
}

/// Returns whether the byte is allowed in a token (RFC 9110, section 5.6.2).
pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Converts each byte to the character with its number. ASCII stays readable, and different values stay
/// different.
pub(super) fn latin_1(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

#[cfg(test)]
mod tests;
