//! Tests of JSON read from text.

use super::{refused_text, text};
use crate::values::error::Reason;

fn fault(json: &[u8]) -> (usize, &'static str) {
    match refused_text(json) {
        Reason::NotJson { offset, fault } => (offset, fault),
        other => panic!("refused for another reason: {other:?}"),
    }
}

#[test]
fn white_space_and_order_do_not_count() {
    assert_eq!(
        text(" { \"b\" : [ 1 , { } , [ ] ] ,\r\n\t\"a\" : true } "),
        r#"{"a":true,"b":[1,{},[]]}"#
    );
    assert_eq!(text(" null "), "null");
    assert_eq!(text("false"), "false");
}

#[test]
fn arrays_keep_their_order() {
    assert_ne!(text("[1,2]"), text("[2,1]"));
}

#[test]
fn nulls_of_raw_text_are_kept() {
    assert_eq!(text(r#"{"a":null,"b":[null]}"#), r#"{"a":null,"b":[null]}"#);
}

#[test]
fn an_escape_and_its_character_are_the_same_text() {
    assert_eq!(
        text(r#""\u0061\/\u00e9\ud83d\udd11""#),
        "\"a/\u{e9}\u{1f511}\""
    );
    assert_eq!(
        text(r#""\b\f\n\r\t\"\\\u0008\u001F\u007f""#),
        "\"\\b\\f\\n\\r\\t\\\"\\\\\\b\\u001f\u{7f}\""
    );
    assert_eq!(text(r#""\u0000""#), r#""\u0000""#);
}

#[test]
fn surrogates_in_pairs_are_one_character() {
    assert_eq!(text(r#""\ud800\udc00""#), "\"\u{10000}\"");
    assert_eq!(text(r#""\uDBFF\uDFFF""#), "\"\u{10ffff}\"");
    assert_eq!(text(r#""\ud7ff\ue000""#), "\"\u{d7ff}\u{e000}\"");
}

#[test]
fn characters_that_look_alike_stay_apart() {
    assert_ne!(text("\"\u{e9}\""), text("\"e\u{301}\""));
    assert_ne!(text("\"A\""), text("\"a\""));
}

#[test]
fn a_lone_surrogate_is_refused() {
    for bad in [
        r#"["\ud83d"]"#,
        r#"["\udd11"]"#,
        r#"["\ud83d\ud83d"]"#,
        r#"["\ud83d\u0061"]"#,
        r#"["\ud83dx"]"#,
        r#"["\ud83d\n"]"#,
    ] {
        assert_eq!(fault(bad.as_bytes()), (2, "a lone surrogate"), "{bad}");
    }
}

#[test]
fn one_name_twice_is_refused_however_it_is_spelled() {
    for bad in [
        r#"{"a":1,"a":1}"#,
        r#"{"a":1,"b":2,"\u0061":1}"#,
        r#"[{"x":{"a":null,"c":0,"a":null}}]"#,
    ] {
        assert_eq!(
            refused_text(bad.as_bytes()),
            Reason::Duplicate("a".to_owned())
        );
    }
    assert_eq!(
        text(r#"{"a":{"a":1},"b":{"a":1}}"#),
        r#"{"a":{"a":1},"b":{"a":1}}"#
    );
}

#[test]
fn text_nests_128_deep_and_no_deeper() {
    for (open, close) in [("[", "]"), ("{\"k\":", "}")] {
        let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        assert_eq!(text(&nested(128)), nested(128));
        assert_eq!(
            refused_text(nested(129).as_bytes()),
            Reason::TooDeep { limit: 128 }
        );
    }
    assert_eq!(
        refused_text("[".repeat(1_000_000).as_bytes()),
        Reason::TooDeep { limit: 128 }
    );
}

#[test]
fn what_is_not_json_is_refused_where_it_goes_wrong() {
    let cases: [(&[u8], usize); 25] = [
        (b"", 0),
        (b"  ", 2),
        (b"\xef\xbb\xbf1", 0),
        (b"[\"\xff\"]", 2),
        (b"\"\xed\xa0\x80\"", 1),
        (b"nul", 0),
        (b"nullx", 4),
        (b"1 2", 2),
        (b"01", 0),
        (b"-", 0),
        (b"1.", 0),
        (b"1e", 0),
        (b".5", 0),
        (b"+1", 0),
        (b"NaN", 0),
        (b"[1,]", 3),
        (b"[1 2]", 3),
        (b"[1", 2),
        (b"{\"a\":1,}", 7),
        (b"{\"a\" 1}", 5),
        (b"{a:1}", 1),
        (b"{\"a\":1", 6),
        (b"\"a", 2),
        (b"\"\n\"", 1),
        (b"\"\\x\"", 1),
    ];
    for (json, offset) in cases {
        assert_eq!(fault(json).0, offset, "{}", String::from_utf8_lossy(json));
    }
    for short in [
        r#""\u""#,
        r#""\u12""#,
        r#""\u12g4""#,
        r#""\u+123""#,
        "\"\\u123\u{e9}\"",
    ] {
        assert_eq!(
            fault(short.as_bytes()),
            (1, "an escape without four hexadecimal digits"),
            "{short}"
        );
    }
}
