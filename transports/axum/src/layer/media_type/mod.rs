//! Media types, as they are compared.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A media type of RFC 9110, section 8.3.1: names in lower case, parameters in the order of their
/// names and without their quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MediaType {
    /// `type/subtype`.
    essence: String,
    parameters: BTreeMap<String, String>,
}

impl MediaType {
    /// Returns `None` for what is no media type, and where a parameter stands twice.
    ///
    /// `charset=utf-8` is left out where the type is UTF-8 with or without it: JSON (RFC 8259,
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
            // A semicolon that nothing follows is allowed.
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

    /// Writes it in the one way in which it is compared.
    pub(super) fn text(&self) -> String {
        let mut text = self.essence.clone();
        for (name, value) in &self.parameters {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            // A text takes all that is written to it.
            let _ = write!(text, "; {name}=\"{value}\"");
        }
        text
    }

    /// Takes the boundary out, which a client makes anew for each attempt.
    pub(super) fn take_boundary(&mut self) -> Option<String> {
        self.parameters.remove("boundary")
    }
}

/// What has not been read yet.
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

    /// Reads as long as `is_part` says so, and at least one byte.
    fn run(&mut self, is_part: impl Fn(u8) -> bool) -> Option<&'v [u8]> {
        let end = self.0.iter().position(|&byte| !is_part(byte));
        let (run, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        (!run.is_empty()).then_some(run)
    }

    /// A token, in lower case: the names here are compared so.
    fn token(&mut self) -> Option<String> {
        let token = self.run(is_token)?;
        Some(latin_1(token).to_ascii_lowercase())
    }

    /// A parameter's value. One without quotes may have what a boundary may have (RFC 2046,
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

/// Returns whether the byte may stand in a token (RFC 9110, section 5.6.2).
pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Each byte as the character of its number: what is text in a header reads as that text, and what
/// differs stays different.
pub(super) fn latin_1(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

#[cfg(test)]
mod tests;
