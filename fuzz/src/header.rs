//! The key in a request's headers, compared with RFC 8941's String and the rules of the module.

use http::header::{HeaderMap, HeaderValue};
use idem_runtime::http::Syntax;
use idem_runtime::http::header::{IDEMPOTENCY_KEY, X_IDEMPOTENCY_KEY, key};

use crate::key::{refusal, trimmed};

/// The expected result for one header line.
#[derive(Debug, Clone, PartialEq)]
enum Line {
    Key(String),
    Refused,
    /// Either this key, or a refusal if the text after the string is not valid parameters.
    Perhaps(String),
}

/// Splits a header line at the commas outside strings: a proxy may have joined several lines.
fn apart(line: &[u8]) -> Vec<&[u8]> {
    let is_separator = |at: usize| {
        let mut before = line[..at].iter();
        let mut in_string = false;
        while let Some(byte) = before.next() {
            match byte {
                b'"' => in_string = !in_string,
                b'\\' if in_string => {
                    before.next();
                }
                _ => {}
            }
        }
        line[at] == b',' && !in_string
    };
    let mut lines = Vec::new();
    let mut begin = 0;
    for at in (0..line.len()).filter(|at| is_separator(*at)) {
        lines.push(&line[begin..at]);
        begin = at + 1;
    }
    lines.push(&line[begin..]);
    lines
}

fn by_the_rules(value: &[u8], syntax: Syntax) -> Line {
    let mut value = value;
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    if let [b'"', rest @ ..] = value {
        return string(rest);
    }
    let is_bare = !value
        .iter()
        .any(|byte| !(0x21..=0x7e).contains(byte) || b"\",;\\".contains(byte));
    if syntax == Syntax::Lenient && is_bare {
        judged(&String::from_utf8_lossy(value), &[])
    } else {
        Line::Refused
    }
}

/// Reads the text after the opening quote.
fn string(bytes: &[u8]) -> Line {
    let mut text = String::new();
    let mut rest = bytes;
    loop {
        rest = match rest {
            [b'"', behind @ ..] => return judged(&text, behind),
            [b'\\', byte @ (b'"' | b'\\'), behind @ ..] => {
                text.push(char::from(*byte));
                behind
            }
            [b'\\', ..] => return Line::Refused,
            [byte @ 0x20..=0x7e, behind @ ..] => {
                text.push(char::from(*byte));
                behind
            }
            _ => return Line::Refused,
        };
    }
}

fn judged(text: &str, behind: &[u8]) -> Line {
    let plain = trimmed(text);
    match behind {
        _ if refusal(&plain).is_some() => Line::Refused,
        [] => Line::Key(plain),
        [b';', ..] => Line::Perhaps(plain),
        _ => Line::Refused,
    }
}

/// Checks a request's headers. Each line of the input is a header line, and its first byte selects
/// the header.
pub(crate) fn law(input: &[u8]) {
    let mut headers = HeaderMap::new();
    let mut lines = [Vec::new(), Vec::new()];
    for line in input.split(|byte| *byte == b'\n').take(8) {
        if let [name, value @ ..] = line
            && let Ok(sent) = HeaderValue::from_bytes(value)
        {
            let old = usize::from(name % 2);
            headers.append([IDEMPOTENCY_KEY, X_IDEMPOTENCY_KEY][old], sent);
            lines[old].push(value);
        }
    }
    let [new, old] = lines;
    check(&headers, &new, Syntax::Strict);
    check(&headers, &[new, old].concat(), Syntax::Lenient);
}

fn check(headers: &HeaderMap, lines: &[&[u8]], syntax: Syntax) {
    let mut joins_differ = false;
    let lines: Vec<_> = lines
        .iter()
        .flat_map(|line| {
            let lines = apart(line);
            let trimmed: Vec<_> = lines.iter().map(|line| line.trim_ascii()).collect();
            joins_differ |= trimmed.iter().any(|line| *line != trimmed[0]);
            lines
        })
        .map(|line| by_the_rules(line, syntax))
        .collect();
    let mut texts: Vec<_> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Key(text) | Line::Perhaps(text) => Some(text),
            Line::Refused => None,
        })
        .collect();
    texts.dedup();
    let refused = lines.contains(&Line::Refused)
        || texts.len() > 1
        || joins_differ
        || (syntax == Syntax::Strict && lines.len() > 1);
    let certain = !lines.iter().any(|line| matches!(line, Line::Perhaps(_)));
    let sent = |name| headers.get_all(name).iter().map(HeaderValue::as_bytes);
    match key(sent, syntax) {
        Ok(found) => {
            assert!(!refused, "{syntax:?}: {found:?} of {lines:?}");
            let found = found.as_ref().map(idem_runtime::IdempotencyKey::as_str);
            assert_eq!(found, texts.first().map(|text| text.as_str()), "{syntax:?}");
        }
        Err(invalid) => assert!(refused || !certain, "{syntax:?}: {invalid} of {lines:?}"),
    }
}
