//! The parts of an HTTP request that are compared on a retry.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use http::Uri;
use http::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderName};
use http::request::Parts;
use idem_runtime::fingerprint::canonical_text;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::media_type::{MediaType, latin_1};
use super::multipart;

/// What is compared in addition to method, content type and body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Besides<'r> {
    /// The whole path and the query.
    pub(super) uri: &'r Uri,
    /// The host, if the hosts of a service share their keys.
    pub(super) authority: bool,
    /// The header that says how the body is encoded.
    pub(super) coding: &'r HeaderName,
    /// Other headers that describe the body; `Content-Type` is compared as parsed.
    pub(super) of_the_body: &'r [HeaderName],
    /// The headers that the layer compares.
    pub(super) headers: &'r HashSet<HeaderName>,
}

/// The compared form of a request.
#[derive(Serialize)]
pub(super) struct Subject<'r> {
    method: &'r str,
    authority: Option<String>,
    path: &'r str,
    query: Option<&'r str>,
    content_type: Vec<String>,
    headers: BTreeMap<&'r str, Vec<String>>,
    /// The canonical text of a JSON body.
    json: Option<String>,
    /// The hash of a multipart body without its boundary, lower-case hex.
    multipart: Option<String>,
    /// The hash of any other body, lower-case hex.
    sha256: Option<String>,
}

impl<'r> Subject<'r> {
    /// # Errors
    /// Returns the reason if a multipart body cannot be compared without its boundary.
    pub(super) fn of(
        parts: &'r Parts,
        body: &[u8],
        besides: Besides<'r>,
    ) -> Result<Self, &'static str> {
        let coding = besides.coding;
        let mut headers: BTreeMap<_, _> = besides
            .of_the_body
            .iter()
            .chain(besides.headers)
            .filter(|name| *name != coding)
            .filter_map(|name| Some((name.as_str(), values(&parts.headers, name)?)))
            .collect();
        let codings = codings(&parts.headers, coding);
        let is_encoded = codings.is_some();
        headers.extend(codings.map(|codings| (coding.as_str(), codings)));
        let uri = besides.uri;
        let mut subject = Self {
            method: parts.method.as_str(),
            authority: besides
                .authority
                .then(|| authority(uri, &parts.headers))
                .flatten(),
            path: uri.path(),
            query: uri.query(),
            content_type: Vec::new(),
            headers,
            json: None,
            multipart: None,
            sha256: None,
        };
        let types: Vec<_> = parts.headers.get_all(CONTENT_TYPE).iter().collect();
        let media_type = match types[..] {
            [only] => MediaType::parse(only.as_bytes()),
            _ => None,
        };
        if let Some(media_type) = media_type {
            subject.read_as(media_type, body, is_encoded)?;
        } else {
            // No value, several, or an invalid media type: compare the values as they are.
            let types = types.iter().map(|value| latin_1(value.as_bytes()));
            subject.content_type = types.collect();
        }
        if subject.json.is_none() && subject.multipart.is_none() {
            subject.sha256 = Some(lower_hex(&Sha256::digest(body)));
        }
        Ok(subject)
    }

    fn read_as(
        &mut self,
        mut media_type: MediaType,
        body: &[u8],
        is_encoded: bool,
    ) -> Result<(), &'static str> {
        if media_type.is_multipart() {
            if is_encoded {
                return Err("it has a Content-Encoding");
            }
            let boundary = media_type.take_boundary();
            let boundary = boundary.ok_or("its Content-Type has no boundary")?;
            self.multipart = Some(lower_hex(&multipart::digest(body, &boundary)?));
        } else if media_type.is_json() && !is_encoded {
            // Invalid JSON is compared byte for byte: the service may refuse it.
            let text = canonical_text(body).ok();
            self.json = text.and_then(|text| String::from_utf8(text).ok());
        }
        self.content_type.push(media_type.text());
        Ok(())
    }
}

/// Returns two hexadecimal digits for each byte.
fn lower_hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Returns the host of the request in lower case: the URI's authority (HTTP/2), or `Host`.
fn authority(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let authority = uri
        .authority()
        .map(|authority| authority.as_str().to_owned());
    let authority = authority.or_else(|| Some(values(headers, &HOST)?.join(",")));
    authority.map(|authority| authority.to_ascii_lowercase())
}

/// Returns all values of a header in their order, or `None` if it has none. Several lines are one list
/// separated by commas (RFC 9110, section 5.3), because proxies join them.
fn values(headers: &HeaderMap, name: &HeaderName) -> Option<Vec<String>> {
    let mut values = Vec::new();
    for line in headers.get_all(name) {
        let (mut member, mut is_quoted, mut is_escaped) = (Vec::new(), false, false);
        for &byte in line.as_bytes() {
            if byte == b',' && !is_quoted {
                values.push(std::mem::take(&mut member));
                continue;
            }
            is_quoted ^= byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && is_quoted && !is_escaped;
            member.push(byte);
        }
        values.push(member);
    }
    let values = values
        .iter()
        .map(|value| latin_1(value.trim_ascii()))
        .filter(|value| !value.is_empty())
        .collect();
    headers.contains_key(name).then_some(values)
}

/// Returns how the body is encoded, or `None` if it is not.
fn codings(headers: &HeaderMap, name: &HeaderName) -> Option<Vec<String>> {
    let mut codings = values(headers, name)?;
    for coding in &mut codings {
        coding.make_ascii_lowercase();
    }
    codings.retain(|coding| coding != "identity");
    (!codings.is_empty()).then_some(codings)
}

#[cfg(test)]
mod tests;
