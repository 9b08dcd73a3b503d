//! Vectors and the laws they state, through the public surface alone.
//!
//! The file asks for `serde`, `serde_json` and the crate itself, nothing more: a crate that
//! turns on other features of `serde_json` can include it and must find the same bytes.

use idem_runtime::fingerprint::{
    FINGERPRINT_VERSION, Fingerprint, RequestFields, canonical_json, canonical_text,
};
use idem_runtime::key::IdempotencyKey;
use serde::Serialize;

/// Parts, and the SHA-256 of the bytes above them.
const DERIVED: [(&[&str], &str); 4] = [
    // 00000002 00000004 61636d65 00000008 6f726465722d3137
    (
        &["acme", "order-17"],
        "49e2e11d956e19815d196c9e1e5d1f0f3dc4a63c83445d6527b2b3290ef189d2",
    ),
    // 00000002 00000002 6162 00000001 63
    (
        &["ab", "c"],
        "49f89034e1dc8497b376ce2de403d91e204494ba0d3945deddd7c662fefc6f44",
    ),
    // 00000002 00000001 61 00000002 6263
    (
        &["a", "bc"],
        "0e161aa9baccea99ec3fd09974a583e60ba9e9b842cecd9d952203f94ce1c891",
    ),
    // 00000001 00000002 c3a9
    (
        &["\u{e9}"],
        "8e259783c524b2ef1a0308ad630824a484873c044fc4af702ac3cbf7f1f51e71",
    ),
];

/// The child `line-1` of the key `k`:
/// 00000003 00000005 6368696c64 00000001 6b 00000006 6c696e652d31
const CHILD: &str = "b2b2603fa2d5d6582f80601a8a4ea448c5a0cd2f8513606d48345dc70648f05f";

/// Namespace, operation, canonical request, and the SHA-256 of the bytes above them.
const FINGERPRINTS: [(&str, &str, &str, &str); 4] = [
    // 01 0000000000000008 7061796d656e7473 000000000000000e 6372656174655f7061796d656e74
    // 0000000000000023
    // 7b22636d64223a7b22616d6f756e74223a31322e352c22746f223a2261636d65227d7d
    (
        "payments",
        "create_payment",
        r#"{"cmd":{"amount":12.5,"to":"acme"}}"#,
        "20caf9978a5b732f24d53adf0f024cfcb1fd7d0ce5659f2fd6756c58c1563781",
    ),
    // 01 0000000000000001 70 0000000000000001 6f 0000000000000002 7b7d
    (
        "p",
        "o",
        "{}",
        "e98f5f36f06e8b2e3b5c3e4bbc7f213cad4e4c16a7c15932bc8a7ee1e21f7a27",
    ),
    // 01 0000000000000002 706f 0000000000000000 0000000000000002 7b7d
    (
        "po",
        "",
        "{}",
        "8d18b5ce28f64773dc30affbc72cb09bd79762b6224a2afbacdc4ac78ff9fbf0",
    ),
    // 01 0000000000000001 70 0000000000000002 c3b6
    // 000000000000000f 7b22c3a9223a225c7530303030227d
    (
        "p",
        "\u{f6}",
        "{\"\u{e9}\":\"\\u0000\"}",
        "58026754e972c60b4e340d1d8ea1640f66f6d3f4cb4f5db3ea3f811689ea8512",
    ),
];

/// JSON text and its canonical form, for text whose numbers every parser keeps.
const CANONICAL: [(&str, &str); 12] = [
    ("null", "null"),
    (" [ true , false ] ", "[true,false]"),
    ("[0,-0,0.0,-0e7]", "[0,0,0,0]"),
    ("[1,1.0,1e0,10E-1]", "[1,1,1,1]"),
    ("[0.1,-12.50,1e-7,1.5e3]", "[0.1,-12.5,1e-7,1500]"),
    (
        "[9007199254740992,9007199254740993]",
        "[9007199254740992,9007199254740993]",
    ),
    (
        "[18446744073709551615,-9223372036854775808]",
        "[18446744073709551615,-9223372036854775808]",
    ),
    (
        "[1e3,999000,10500,1e40,1e300]",
        "[1e3,999e3,10500,1e40,1e300]",
    ),
    (
        r#"{"b":{"d":1,"c":null},"a":[{"z":1,"y":2}]}"#,
        r#"{"a":[{"y":2,"z":1}],"b":{"c":null,"d":1}}"#,
    ),
    (r#"{"Z":1,"a":2,"B":3,"":4}"#, r#"{"":4,"B":3,"Z":1,"a":2}"#),
    (
        "{\"\u{1f511}\":1,\"\u{ffff}\":2,\"\\n\":3,\"A\":4}",
        "{\"\\n\":3,\"A\":4,\"\u{ffff}\":2,\"\u{1f511}\":1}",
    ),
    (
        r#""\u0000\u001f\u007f\u00e9\/\"\\\b\f\n\r\t""#,
        "\"\\u0000\\u001f\u{7f}\u{e9}/\\\"\\\\\\b\\f\\n\\r\\t\"",
    ),
];

/// The same, for numbers that a parser into doubles would round or refuse.
const EXACT: [(&str, &str); 4] = [
    ("1e400", "1e400"),
    (
        "-100000000000000000000000000000000000000000e-500",
        "-1e-459",
    ),
    ("18446744073709551617", "18446744073709551617"),
    (
        "0.123456789012345678901234567890",
        "0.12345678901234567890123456789",
    ),
];

#[derive(Serialize)]
struct Command {
    to: &'static str,
    amount: f64,
    memo: Option<&'static str>,
    detail: serde_json::Value,
    codes: Vec<Option<u128>>,
}

/// Text, since a form that is wrong should be read in the message.
fn shown(canonical: Vec<u8>) -> String {
    String::from_utf8(canonical).expect("UTF-8")
}

#[test]
fn derived_keys_are_stable() {
    for (parts, key) in DERIVED {
        assert_eq!(
            IdempotencyKey::derive(parts).expect("good parts").as_str(),
            key,
            "{parts:?}"
        );
    }
}

#[test]
fn child_keys_are_stable() {
    let parent: IdempotencyKey = " k ".parse().expect("a good key");
    assert_eq!(
        parent.child("line-1").expect("a good label").as_str(),
        CHILD
    );
}

#[test]
fn fingerprints_are_stable() {
    assert_eq!(FINGERPRINT_VERSION, 1);
    for (namespace, operation, request, expected) in FINGERPRINTS {
        let fingerprint = Fingerprint::compute(1, namespace, operation, request.as_bytes());
        assert_eq!(
            format!("{:?}", fingerprint.expect("a known version")),
            format!("Fingerprint({expected})"),
            "{request}"
        );
    }
}

#[test]
fn canonical_forms_of_text_are_stable() {
    for (text, canonical) in CANONICAL.into_iter().chain(EXACT) {
        let form = canonical_text(text.as_bytes()).expect("good text");
        assert_eq!(shown(form), canonical, "{text}");
    }
}

#[test]
fn canonical_forms_of_parsed_values_are_stable() {
    for (text, canonical) in CANONICAL {
        let value: serde_json::Value = serde_json::from_str(text).expect("good text");
        let form = canonical_json(&value).expect("a good value");
        assert_eq!(shown(form), canonical, "{text}");
    }
}

#[test]
fn canonical_forms_of_typed_requests_are_stable() {
    let command = Command {
        to: "acme",
        amount: 12.5,
        memo: None,
        detail: serde_json::json!({"z": null, "k": [1.0, 0.1, 3, u64::MAX], "a": {}}),
        codes: vec![None, Some(u128::MAX)],
    };
    let mut request = RequestFields::new();
    request.field("dry_run", &false).expect("a good parameter");
    request.field("cmd", &command).expect("a good parameter");
    let expected = concat!(
        r#"{"cmd":{"amount":12.5,"#,
        r#""codes":[null,340282366920938463463374607431768211455],"#,
        r#""detail":{"a":{},"k":[1,0.1,3,18446744073709551615],"z":null},"#,
        r#""to":"acme"},"dry_run":false}"#,
    );
    assert_eq!(shown(request.into_canonical()), expected);
}

/// Both floats are as near to the odd digit above as to the even one below.
#[test]
fn canonical_forms_of_floats_halfway_are_stable() {
    let double = 1_569_028_888_741_584.0_f64 + 0.25;
    let spelled = "1569028888741584.2";
    let value = serde_json::Value::from(double);
    assert_eq!(shown(canonical_json(&double).expect("a number")), spelled);
    assert_eq!(shown(canonical_json(&value).expect("a number")), spelled);
    let single = 2_097_152.0_f32 + 0.25;
    assert_eq!(
        shown(canonical_json(&single).expect("a number")),
        "2097152.2"
    );
}
