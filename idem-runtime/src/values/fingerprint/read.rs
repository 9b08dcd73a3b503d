//! Conversions of canonical JSON for reading and comparing recorded values.

use std::borrow::Cow;

use super::canonical::Writer;
use super::number::exponent;
use super::plain;
use super::text;

/// The longest integer that is written out, in digits: enough for every `u128` and `i128`.
const DIGITS: usize = 40;

/// Returns canonical JSON with its integers written out (`1000` for `1e3`), because a decoder of
/// integer types accepts no exponent.
pub(crate) fn with_plain_integers(canonical: &[u8]) -> Cow<'_, [u8]> {
    let mut out = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(&byte) = canonical.get(at) {
        match byte {
            b'"' => at = behind_string(canonical, at),
            b'0'..=b'9' => {
                let number = &canonical[at..];
                let end = number
                    .iter()
                    .position(|byte| matches!(byte, b',' | b']' | b'}'));
                let number = &number[..end.unwrap_or(number.len())];
                at += number.len();
                if let Some((digits, zeros)) = exponent(number)
                    && digits.len().saturating_add(zeros) <= DIGITS
                {
                    let start = at - number.len();
                    out.extend_from_slice(&canonical[copied..start]);
                    out.extend_from_slice(digits);
                    out.extend((0..zeros).map(|_| b'0'));
                    copied = at;
                }
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(canonical);
    }
    out.extend_from_slice(&canonical[copied..]);
    Cow::Owned(out)
}

/// Returns the position after the string that begins at `start`.
pub(super) fn behind_string(json: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    loop {
        at += plain::len(json.get(at..).unwrap_or_default());
        match json.get(at) {
            Some(b'\\') => at += 2,
            Some(b'"') | None => return at + 1,
            Some(_) => at += 1,
        }
    }
}

/// Returns the canonical form of JSON text with the elements of each array sorted, or `None` if the
/// text has no canonical form. Two texts with the same result differ at most in the order of array
/// elements.
pub(crate) fn without_order(json: &[u8]) -> Option<Vec<u8>> {
    let mut writer = Writer::new();
    text::write_sorted(&mut writer, json).ok()?;
    Some(writer.out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::values::fingerprint::canonical_json;

    fn plain(canonical: &str) -> String {
        let bytes = with_plain_integers(canonical.as_bytes()).into_owned();
        String::from_utf8(bytes).expect("UTF-8")
    }

    #[test]
    fn integers_are_written_out_where_one_can_hold_them_and_all_else_stays() {
        assert_eq!(
            plain(r#"{"1e3":-12e3,"a\"1e3":[1e3,"1e3\\",5,1e-3,0.5],"z":1e39}"#),
            format!(
                r#"{{"1e3":-12000,"a\"1e3":[1000,"1e3\\",5,1e-3,0.5],"z":1{}}}"#,
                "0".repeat(39)
            )
        );
        for stays in ["1e40", "[]", "\"1e3", "\"\\", "1e99999999999999999999", ""] {
            assert_eq!(plain(stays), stays);
        }
    }

    #[test]
    fn lists_that_differ_in_order_alone_are_one_without_it() {
        let one = without_order(br#"{"b":[[2,1],[3]],"a":1.0}"#);
        assert!(one.is_some());
        assert_eq!(one, without_order(br#"{"a":1,"b":[[3],[1,2]]}"#));
        assert_ne!(one, without_order(br#"{"a":1,"b":[[3],[1,2],[3]]}"#));
        assert_ne!(one, without_order(br#"{"a":2,"b":[[3],[1,2]]}"#));
        // A parser that rounds to `f64` would treat them as equal.
        assert_ne!(
            without_order(b"[18446744073709551617,1]"),
            without_order(b"[1,18446744073709551616]")
        );
        assert_eq!(without_order(b"[1"), None);
    }

    proptest! {
        #[test]
        fn an_integer_of_a_request_is_decoded_as_it_was(
            wide: i128, value: u64, zeros in 0_u32..20, text: String
        ) {
            let round = i128::from(value >> 20) * 10_i128.pow(zeros);
            let request = (wide, value, round, text);
            let canonical = canonical_json(&request).expect("a canonical form");
            let read = serde_json::from_slice(&with_plain_integers(&canonical));
            prop_assert_eq!(read.ok(), Some(request));
        }

        #[test]
        fn numbers_written_out_are_the_same_numbers(value: u64, zeros in 0_i32..60) {
            let canonical = format!("[{value}e{zeros}]");
            let canonical = crate::values::fingerprint::canonical_text(canonical.as_bytes()).expect("JSON");
            let plain = with_plain_integers(&canonical);
            prop_assert_eq!(
                crate::values::fingerprint::canonical_text(&plain).ok(),
                Some(canonical.clone())
            );
            prop_assert!(serde_json::from_slice::<Value>(&plain).is_ok());
        }
    }
}
