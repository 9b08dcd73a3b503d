//! Multipart bodies (RFC 2046, section 5.1), compared without their boundary.
//!
//! A client creates a new boundary for each attempt. The rest is compared: the parts in their order, each
//! with its headers (name, file name, type) and its bytes, and the text before the first and after the
//! last part.
//!
//! Two bodies that a service would parse differently must never compare as equal. Therefore the boundary
//! may occur only between parts, on full lines that end with CRLF. A body that a lenient parser could
//! split elsewhere is refused.

use sha2::{Digest as _, Sha256};

use super::media_type::{MediaType, is_token, latin_1};

/// The maximum nesting of parts.
const DEEPEST: usize = 4;

/// Hashes the body without its boundary.
///
/// # Errors
/// Returns the reason if the body cannot be compared, for the client's developer.
pub(super) fn digest(body: &[u8], boundary: &str) -> Result<[u8; 32], &'static str> {
    nested(body, boundary, DEEPEST)
}

fn nested(body: &[u8], boundary: &str, depth: usize) -> Result<[u8; 32], &'static str> {
    if depth == 0 {
        return Err("its parts are nested too deeply");
    }
    let parsed = Multipart::parse(body, boundary)?;
    let mut hash = Framed(Sha256::new());
    hash.add(parsed.preamble);
    hash.add(parsed.epilogue);
    for part in parsed.parts {
        let headers = Headers::parse(part)?;
        hash.number(headers.fields.len());
        for (name, value) in &headers.fields {
            hash.add(name.as_bytes());
            hash.add(value.as_bytes());
        }
        if let Some(inner) = headers.boundary {
            hash.number(1);
            hash.add(&nested(headers.content, &inner, depth - 1)?);
        } else {
            hash.number(0);
            hash.add(headers.content);
        }
    }
    Ok(hash.0.finalize().into())
}

/// Hashes pieces, each preceded by its length, so that no byte can move from one piece into the next.
struct Framed(Sha256);

impl Framed {
    fn number(&mut self, number: usize) {
        self.0.update((number as u64).to_be_bytes());
    }

    fn add(&mut self, piece: &[u8]) {
        self.number(piece.len());
        self.0.update(piece);
    }
}

/// A body, split into its parts.
struct Multipart<'b> {
    preamble: &'b [u8],
    parts: Vec<&'b [u8]>,
    epilogue: &'b [u8],
}

impl<'b> Multipart<'b> {
    fn parse(body: &'b [u8], boundary: &str) -> Result<Self, &'static str> {
        const NOT_CLOSED: &str = "its boundary does not end it";
        const INSIDE: &str =
            "its boundary stands elsewhere than between its parts, on lines that end with CRLF";
        if boundary.is_empty() {
            return Err("its boundary is empty");
        }
        let delimiter = [b"--", boundary.as_bytes()].concat();
        let mut found = body
            .windows(delimiter.len())
            .enumerate()
            .filter(|(_, window)| *window == delimiter)
            .map(|(start, _)| start);
        let first = found.next().ok_or(NOT_CLOSED)?;
        let preamble = match &body[..first] {
            before @ [] => before,
            before => before.strip_suffix(b"\r\n").ok_or(INSIDE)?,
        };
        let mut parts = Vec::new();
        let mut rest = &body[first + delimiter.len()..];
        let mut end = first + delimiter.len();
        for next in found {
            // Overlapping boundaries, and a boundary followed by more than white space.
            let line_end = after_padding(rest).strip_prefix(b"\r\n").ok_or(INSIDE)?;
            let start = end + (rest.len() - line_end.len());
            let part = body.get(start..next).ok_or(INSIDE)?;
            parts.push(part.strip_suffix(b"\r\n").ok_or(INSIDE)?);
            end = next + delimiter.len();
            rest = &body[end..];
        }
        let epilogue = after_padding(rest.strip_prefix(b"--").ok_or(NOT_CLOSED)?);
        if !epilogue.is_empty() && !epilogue.starts_with(b"\r\n") {
            return Err(INSIDE);
        }
        Ok(Self {
            preamble,
            parts,
            epilogue,
        })
    }
}

/// White space that a gateway may have added to a line (RFC 2046, section 5.1.1).
fn after_padding(line: &[u8]) -> &[u8] {
    let end = line.iter().position(|byte| !b" \t".contains(byte));
    &line[end.unwrap_or(line.len())..]
}

/// The headers of a part, sorted by name, and its content.
struct Headers<'b> {
    fields: Vec<(String, String)>,
    /// The boundary of nested parts.
    boundary: Option<String>,
    content: &'b [u8],
}

impl<'b> Headers<'b> {
    fn parse(part: &'b [u8]) -> Result<Self, &'static str> {
        const UNREADABLE: &str = "the headers of a part cannot be read";
        let mut headers = Self {
            fields: Vec::new(),
            boundary: None,
            content: part,
        };
        loop {
            let end = headers.content.windows(2).position(|two| two == b"\r\n");
            let (line, rest) = headers.content.split_at(end.ok_or(UNREADABLE)?);
            headers.content = &rest[2..];
            if line.is_empty() {
                break;
            }
            let colon = line.iter().position(|&byte| byte == b':');
            let (name, value) = line.split_at(colon.ok_or(UNREADABLE)?);
            let value = value[1..].trim_ascii();
            // A folded line begins with white space; some parsers take a bare CR or LF for the end of a line.
            if name.is_empty() || !name.iter().copied().all(is_token) {
                return Err(UNREADABLE);
            }
            if value.iter().any(|byte| b"\r\n\0".contains(byte)) {
                return Err(UNREADABLE);
            }
            let name = latin_1(name).to_ascii_lowercase();
            let value = match MediaType::parse(value) {
                Some(mut media_type) if name == "content-type" && media_type.is_multipart() => {
                    let boundary = media_type.take_boundary();
                    // Several of them, or none: it is ambiguous how the body is split.
                    if boundary.is_none() || headers.boundary.is_some() {
                        return Err(UNREADABLE);
                    }
                    headers.boundary = boundary;
                    media_type.text()
                }
                _ => latin_1(value),
            };
            headers.fields.push((name, value));
        }
        headers
            .fields
            .sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(headers)
    }
}

#[cfg(test)]
mod tests;
