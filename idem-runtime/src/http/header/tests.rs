//! The header's syntax, against its regular expression.

use http::header::{HeaderMap, HeaderValue};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::string::{bytes_regex, string_regex};
use regex::Regex;

use super::*;

const BOTH: [Syntax; 2] = [Syntax::Lenient, Syntax::Strict];

fn keys(lines: &[&[u8]], syntax: Syntax) -> Result<Option<IdempotencyKey>, Invalid> {
    let mut headers = HeaderMap::new();
    for line in lines {
        let line = HeaderValue::from_bytes(line).expect("fit for a header");
        headers.append(IDEMPOTENCY_KEY, line);
    }
    key(&headers, syntax)
}

fn accepts(value: &str, syntax: Syntax) -> bool {
    keys(&[value.as_bytes()], syntax).is_ok()
}

fn matches(value: &str, syntax: Syntax) -> bool {
    let pattern = Regex::new(syntax.pattern()).expect("a pattern");
    pattern.is_match(value)
}

/// Values near to what is accepted: pieces of keys, strings and parameters in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        select(vec![
            "\"", "\"", "\"", "\\", "\\\"", "\\\\", ";", "; ", ";a", ";a=", "=", ",", ", ", " ",
            "k", "k", "-", "a1", "A", "*", "?1", "?0", "?2", ":", ":YQ==:", "1", "-1", "1.5",
            "1.2345", "0123456789012", "0123456789012345", "/", "_", ".", "~", "[", "]", "@", "%",
            "`", "|", "{"
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
    fn the_pattern_matches_exactly_the_values_that_are_one_key(value in pieces()) {
        for syntax in BOTH {
            let is_one = string::members(value.as_bytes()).count() == 1;
            if is_one {
                prop_assert_eq!(accepts(&value, syntax), matches(&value, syntax), "{:?}", syntax);
            } else {
                prop_assert!(!matches(&value, syntax), "{:?}", syntax);
            }
        }
    }
}

proptest! {
    #[test]
    fn what_is_made_by_the_pattern_is_accepted(
        lenient in string_regex(Syntax::Lenient.pattern().trim_matches(['^', '$'])).expect("a pattern"),
        strict in string_regex(Syntax::Strict.pattern().trim_matches(['^', '$'])).expect("a pattern"),
    ) {
        prop_assert!(accepts(&lenient, Syntax::Lenient));
        prop_assert!(accepts(&strict, Syntax::Lenient) && accepts(&strict, Syntax::Strict));
    }

    #[test]
    fn lines_that_a_proxy_joins_are_read_as_the_lines_that_they_were(
        lines in prop::collection::vec(
            prop_oneof![pieces(), select(vec!["k", "\"k\"", "\"k\";a=\",\"", "j"]).prop_map(str::to_owned)],
            1..4,
        ),
        comma in bytes_regex(" ?, ?").expect("a pattern"),
    ) {
        // A quote that nobody closes would swallow the comma.
        prop_assume!(lines.iter().all(|line| string::members(format!("{line},").as_bytes()).last() == Some(b"")));
        let apart: Vec<_> = lines.iter().map(String::as_bytes).collect();
        let joined = apart.join(&comma[..]);
        for syntax in BOTH {
            prop_assert_eq!(keys(&apart, syntax), keys(&[&joined], syntax), "{:?}", syntax);
        }
    }
}
