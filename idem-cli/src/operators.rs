//! Who may open the pages of `idem serve`: a file with a line for each operator.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use http::header::AUTHORIZATION;
use http::request::Parts;
use idem_console::{Authoriser, Principal, Refused};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::fault::Fault;

const FORM: &str = "each line is `name rights hash`, as `idem operator NAME` prints it; rights are read, read,change, \
                    read,reveal or read,change,reveal";

/// The operators by their names. A browser sends name and token by the scheme `Basic`.
#[derive(Debug)]
pub(crate) struct Operators(BTreeMap<String, Listed>);

#[derive(Debug)]
struct Listed {
    hash: [u8; 32],
    principal: Principal,
}

impl Operators {
    /// Reads the file. Without an operator nothing is served.
    pub(crate) fn read(path: &Path) -> Result<Self, Fault> {
        let shown = path.display();
        let text = fs::read_to_string(path).map_err(|error| {
            Fault::environment(format!("the file {shown} cannot be read: {}", error.kind()))
                .mend("idem operator NAME --change >> the file")
        })?;
        refuse_writable(path)?;
        let mut operators = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = || {
                Fault::usage(format!("line {} of {shown} names no operator", number + 1)).mend(FORM)
            };
            let (name, listed) = parse(line).ok_or_else(wrong)?;
            if operators.insert(name.to_owned(), listed).is_some() {
                let again = format!("line {} of {shown} names {name} again", number + 1);
                return Err(Fault::usage(again).mend("leave one line for each operator"));
            }
        }
        if operators.is_empty() {
            return Err(Fault::usage(format!("{shown} names no operator")).mend(FORM));
        }
        Ok(Self(operators))
    }
}

fn parse(line: &str) -> Option<(&str, Listed)> {
    let words: Vec<_> = line.split_whitespace().collect();
    let [name, rights, hash] = words[..] else {
        return None;
    };
    let mut principal = Principal::new(name).ok()?;
    let rights: Vec<_> = rights.split(',').collect();
    if rights.first() != Some(&"read") {
        return None;
    }
    for right in &rights[1..] {
        principal = match *right {
            "change" => principal.may_change(),
            "reveal" => principal.may_reveal(),
            _ => return None,
        };
    }
    let mut digits = [0; 32];
    if hash.len() != 64 || !hash.is_ascii() {
        return None;
    }
    for (at, digit) in digits.iter_mut().enumerate() {
        *digit = u8::from_str_radix(&hash[2 * at..2 * at + 2], 16).ok()?;
    }
    let listed = Listed {
        hash: digits,
        principal,
    };
    Some((name, listed))
}

/// Refuses a file that others may write: they could add themselves.
#[cfg(unix)]
fn refuse_writable(path: &Path) -> Result<(), Fault> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(path).map(|found| found.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o022 == 0) {
        return Ok(());
    }
    let shown = path.display();
    Err(
        Fault::environment(format!("others than its owner may write to {shown}"))
            .mend(format!("chmod go-w {shown}")),
    )
}

#[cfg(not(unix))]
fn refuse_writable(_: &Path) -> Result<(), Fault> {
    Ok(())
}

impl Authoriser for Operators {
    async fn authorise(&self, request: &Parts) -> Result<Principal, Refused> {
        self.find(request).ok_or_else(|| {
            let challenge = "Basic realm=\"idem\", charset=\"UTF-8\"";
            Refused::unauthenticated().challenge(HeaderValue::from_static(challenge))
        })
    }
}

impl Operators {
    fn find(&self, request: &Parts) -> Option<Principal> {
        let header = request.headers.get(AUTHORIZATION)?.to_str().ok()?;
        let (scheme, encoded) = header.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let pair = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
        let (name, token) = pair.split_once(':')?;
        let listed = self.0.get(name)?;
        // Of a hash of 244 random bits, the time of a comparison tells nothing.
        (hash(token) == listed.hash).then(|| listed.principal.clone())
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Draws a token of 244 random bits.
pub(crate) fn draw() -> String {
    let halves = [Uuid::new_v4(), Uuid::new_v4()];
    halves.map(|half| half.simple().to_string()).concat()
}

/// Returns the line of an operator.
pub(crate) fn listed(name: &str, change: bool, reveal: bool, token: &str) -> Result<String, Fault> {
    let is_name = !name.contains([':', '#']) && !name.contains(char::is_whitespace);
    if !is_name || Principal::new(name).is_err() {
        let wrong =
            "the name of an operator has 1 to 255 characters, without white space, `:` and `#`";
        return Err(Fault::usage(wrong));
    }
    let mut line = format!("{name} read");
    for (right, has) in [("change", change), ("reveal", reveal)] {
        if has {
            line += ",";
            line += right;
        }
    }
    line += " ";
    for byte in hash(token) {
        let _ = write!(line, "{byte:02x}");
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_is_printed_and_any_other_is_refused() {
        let token = draw();
        for (change, reveal) in [(false, false), (true, false), (false, true), (true, true)] {
            let line = listed("ada", change, reveal, &token).expect("a name");
            let (name, listed) = parse(&line).expect("an operator");
            assert_eq!(name, "ada");
            assert_eq!(listed.hash, hash(&token));
            assert_eq!(listed.principal.can_change(), change);
            assert_eq!(listed.principal.can_reveal(), reveal);
        }
        let hash = "0".repeat(64);
        for line in [
            "ada".to_owned(),
            format!("ada {hash}"),
            format!("ada change {hash}"),
            format!("ada read,delete {hash}"),
            format!("ada read {}", &hash[1..]),
            format!("ada read {}", "z".repeat(64)),
            format!("ada read {hash} more"),
        ] {
            assert!(parse(&line).is_none(), "{line}");
        }
        for name in ["", "a b", "a:b", "#a"] {
            assert!(listed(name, false, false, &token).is_err(), "{name}");
        }
    }
}
