//! The conversion of JSON text to canonical JSON.

use std::borrow::Cow;

use super::canonical::Writer;
use super::fault::Fault;
use super::number::Decimal;
use super::plain;
use crate::values::error::Reason;

/// The maximum nesting of arrays and objects in JSON text.
const DEPTH_MAX: usize = 128;

/// Writes the canonical form of JSON text.
pub(super) fn write(writer: &mut Writer, json: &[u8]) -> Result<(), Fault> {
    scan(writer, json, false)
}

/// Writes the canonical form of JSON text with the elements of each array sorted.
pub(super) fn write_sorted(writer: &mut Writer, json: &[u8]) -> Result<(), Fault> {
    scan(writer, json, true)
}

fn scan(writer: &mut Writer, json: &[u8], sorts: bool) -> Result<(), Fault> {
    let text = match str::from_utf8(json) {
        Ok(text) => text,
        Err(error) => return Err(fault(error.valid_up_to(), "invalid UTF-8")),
    };
    let mut scanner = Scanner { text, at: 0, sorts };
    scanner.value(writer, DEPTH_MAX)?;
    match scanner.next() {
        None => Ok(()),
        Some(_) => Err(scanner.fault("more text after the value")),
    }
}

fn fault(offset: usize, fault: &'static str) -> Fault {
    Fault::new(Reason::NotJson { offset, fault })
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Whether the elements of arrays are sorted.
    sorts: bool,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn fault(&self, message: &'static str) -> Fault {
        fault(self.at, message)
    }

    /// Skips white space and returns the next byte without reading it.
    fn next(&mut self) -> Option<u8> {
        let rest = self.rest();
        let skipped = rest
            .iter()
            .position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
            .unwrap_or(rest.len());
        self.at += skipped;
        rest.get(skipped).copied()
    }

    /// Skips white space and reads `byte` if it is next. Returns whether it was.
    fn skip(&mut self, byte: u8) -> bool {
        let found = self.next() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Reads a value that may nest `depth` more levels.
    fn value(&mut self, writer: &mut Writer, depth: usize) -> Result<(), Fault> {
        match self.next() {
            Some(b'{') => self.object(writer, inner(depth)?),
            Some(b'[') => self.array(writer, inner(depth)?),
            Some(b'"') => {
                let text = self.string()?;
                writer.string(&text);
                Ok(())
            }
            Some(b'-' | b'0'..=b'9') => match Decimal::scan(self.rest()) {
                Some(decimal) => {
                    self.at += decimal.len();
                    decimal.write(&mut writer.out)
                }
                None => Err(self.fault("a number that is spelled wrongly")),
            },
            Some(_) => {
                for word in ["null", "true", "false"] {
                    if self.rest().starts_with(word.as_bytes()) {
                        self.at += word.len();
                        writer.out.extend_from_slice(word.as_bytes());
                        return Ok(());
                    }
                }
                Err(self.fault("no value"))
            }
            None => Err(self.fault("the text ends where a value should be")),
        }
    }

    fn array(&mut self, writer: &mut Writer, depth: usize) -> Result<(), Fault> {
        self.at += 1;
        writer.out.push(b'[');
        let start = writer.out.len();
        let mut elements = Vec::new();
        if !self.skip(b']') {
            loop {
                let element = writer.out.len();
                self.value(writer, depth)?;
                if self.sorts {
                    elements.push(writer.out[element..].to_vec());
                }
                if self.skip(b']') {
                    break;
                }
                if !self.skip(b',') {
                    return Err(self.fault("no `,` or `]` after an element"));
                }
                writer.out.push(b',');
            }
        }
        if self.sorts {
            elements.sort_unstable();
            writer.out.truncate(start);
            writer.out.extend(elements.join(&b','));
        }
        writer.out.push(b']');
        Ok(())
    }

    fn object(&mut self, writer: &mut Writer, depth: usize) -> Result<(), Fault> {
        self.at += 1;
        let object = writer.open();
        if !self.skip(b'}') {
            loop {
                if self.next() != Some(b'"') {
                    return Err(self.fault("no name of a member"));
                }
                let name = self.string()?;
                let member = writer.member(&object, &name);
                if !self.skip(b':') {
                    return Err(self.fault("no `:` after the name of a member"));
                }
                self.value(writer, depth)?;
                writer.keep(&member);
                if self.skip(b'}') {
                    break;
                }
                if !self.skip(b',') {
                    return Err(self.fault("no `,` or `}` after a member"));
                }
            }
        }
        writer.close(&object)
    }

    /// Reads a string, whose opening quote is next.
    fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        self.at += 1;
        let mut decoded = String::new();
        let mut start = self.at;
        loop {
            let rest = self.rest();
            let plain = plain::len(rest);
            self.at += plain;
            let piece = &self.text[start..self.at];
            match rest.get(plain) {
                None => return Err(self.fault("a string without an end")),
                Some(b'"') => {
                    self.at += 1;
                    if decoded.is_empty() {
                        return Ok(Cow::Borrowed(piece));
                    }
                    decoded.push_str(piece);
                    return Ok(Cow::Owned(decoded));
                }
                Some(b'\\') => {
                    decoded.push_str(piece);
                    decoded.push(self.escape()?);
                    start = self.at;
                }
                Some(_) => return Err(self.fault("a control character in a string")),
            }
        }
    }

    /// Reads an escape, whose backslash is next.
    fn escape(&mut self) -> Result<char, Fault> {
        let plain = match self.rest().get(1) {
            Some(b'u') => return self.unicode_escape(),
            Some(&quoted @ (b'"' | b'\\' | b'/')) => char::from(quoted),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => return Err(self.fault("an unknown escape")),
        };
        self.at += 2;
        Ok(plain)
    }

    fn unicode_escape(&mut self) -> Result<char, Fault> {
        let start = self.at;
        let high = self.unit()?;
        let code = match high {
            0xd800..0xdc00 if self.rest().starts_with(b"\\u") => match self.unit()? {
                low @ 0xdc00..0xe000 => 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00),
                _ => high,
            },
            _ => high,
        };
        // A code that is still a surrogate has no partner.
        char::from_u32(code).ok_or_else(|| fault(start, "a lone surrogate"))
    }

    /// Reads `\u` and four hexadecimal digits.
    fn unit(&mut self) -> Result<u32, Fault> {
        let digits = self.rest().get(2..6).unwrap_or_default();
        let mut unit = 0;
        for &digit in digits {
            let Some(digit) = char::from(digit).to_digit(16) else {
                return Err(self.fault("an escape without four hexadecimal digits"));
            };
            unit = unit << 4 | digit;
        }
        if digits.is_empty() {
            return Err(self.fault("an escape without four hexadecimal digits"));
        }
        self.at += 6;
        Ok(unit)
    }
}

/// Returns the depth that remains inside an array or object. Returns an error if none remains.
fn inner(depth: usize) -> Result<usize, Fault> {
    let limit = DEPTH_MAX;
    depth
        .checked_sub(1)
        .ok_or_else(|| Fault::new(Reason::TooDeep { limit }))
}
