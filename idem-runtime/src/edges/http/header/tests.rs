//! The header's syntax, against its regular expression.

use std::sync::LazyLock;

use http::header::{HeaderMap, HeaderValue};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::string::string_regex;
use regress::Regex;

use super::*;

const BOTH: [Syntax; 2] = [Syntax::Lenient, Syntax::Strict];

fn keys(lines: &[&[u8]], syntax: Syntax) -> Result<Option<IdempotencyKey>, Invalid> {
    let mut headers = HeaderMap::new();
    for line in lines {
        let line = HeaderValue::from_bytes(line).expect("fit for a header");
        headers.append(IDEMPOTENCY_KEY, line);
    }
    let lines = |name| headers.get_all(name).iter().map(HeaderValue::as_bytes);
    key(lines, syntax)
}

fn accepts(value: &str, syntax: Syntax) -> bool {
    keys(&[value.as_bytes()], syntax).is_ok()
}

fn matches(value: &str, syntax: Syntax) -> bool {
    static PATTERNS: LazyLock<[Regex; 2]> =
        LazyLock::new(|| BOTH.map(|syntax| Regex::new(syntax.pattern()).expect("a pattern")));
    let index = BOTH.iter().position(|known| *known == syntax);
    PATTERNS[index.expect("one of both")].find(value).is_some()
}

/// Values near to what is accepted: pieces of keys, strings and parameters in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        select(vec![
            "\"",
            "\"",
            "\"",
            "\\",
            "\\\"",
            "\\\\",
            ";",
            "; ",
            ";a",
            ";a=",
            "=",
            ",",
            ", ",
            " ",
            "k",
            "k",
            "-",
            "a1",
            "A",
            "*",
            "?1",
            "?0",
            "?2",
            ":",
            ":YQ==:",
            "1",
            "-1",
            "1.5",
            "1.2345",
            "0123456789012",
            "0123456789012345",
            "/",
            "_",
            ".",
            "~",
            "[",
            "]",
            "@",
            "%",
            "`",
            "|",
            "{"
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,3}",
        select(vec![84, 85, 126, 127, 128, 254, 255, 256]).prop_map(|length| "k".repeat(length)),
    ];
    prop::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat().trim().to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn the_pattern_matches_exactly_the_values_that_are_accepted(
        value in prop_oneof![3 => pieces(), 1 => joined(pieces())],
    ) {
        for syntax in BOTH {
            prop_assert_eq!(accepts(&value, syntax), matches(&value, syntax), "{:?}", syntax);
        }
    }
}

/// A value twice, with a comma between, as a proxy joins two lines.
fn joined(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let comma = string_regex("[ \t]?,[ \t]?").expect("a pattern");
    (value, comma).prop_map(|(value, comma)| format!("{value}{comma}{value}"))
}

fn part(index: usize) -> impl Strategy<Value = String> {
    string_regex(string::PARTS[index]).expect("a pattern")
}

proptest! {
    #[test]
    fn what_is_made_by_the_pattern_is_accepted(
        lenient in prop_oneof![part(0), part(1), joined(part(0)), joined(part(1))],
        strict in part(1),
    ) {
        prop_assert!(accepts(&lenient, Syntax::Lenient) && matches(&lenient, Syntax::Lenient));
        for syntax in BOTH {
            prop_assert!(accepts(&strict, syntax) && matches(&strict, syntax), "{:?}", syntax);
        }
    }

    #[test]
    fn equal_lines_that_a_proxy_joins_are_read_as_the_lines_that_they_were(
        line in prop_oneof![pieces(), part(0), part(1)],
    ) {
        // A quote that nobody closes would swallow the comma.
        prop_assume!(string::members(format!("{line},").as_bytes()).last() == Some(b""));
        let apart = [line.as_bytes(), line.as_bytes()];
        let joined = format!("{line}, {line}");
        for syntax in BOTH {
            prop_assert_eq!(keys(&apart, syntax), keys(&[joined.as_bytes()], syntax), "{:?}", syntax);
        }
    }
}
