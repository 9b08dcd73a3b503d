//! Tests of compared parameters and their names.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::json as value;

use crate::values::error::{Field, Reason};
use crate::values::fingerprint::{Fingerprint, RequestFields};

fn request(fields: &[(&'static str, serde_json::Value)]) -> String {
    let mut request = RequestFields::new();
    for (name, value) in fields {
        request.field(name, value).expect("a good parameter");
    }
    String::from_utf8(request.into_canonical()).expect("UTF-8")
}

#[test]
fn the_order_of_parameters_does_not_count_and_a_null_that_was_said_stays() {
    assert_eq!(request(&[]), "{}");
    let (a, b) = (("a", value!({"y": null, "x": 1})), ("b", value!(2)));
    let sorted = r#"{"a":{"x":1,"y":null},"b":2}"#;
    assert_eq!(request(&[a.clone(), b.clone()]), sorted);
    assert_eq!(request(&[b.clone(), a.clone()]), sorted);
    assert_eq!(
        request(&[b, ("c", value!(null)), a]),
        r#"{"a":{"x":1,"y":null},"b":2,"c":null}"#
    );
}

#[test]
#[expect(
    clippy::unnecessary_mut_passed,
    reason = "as a caller may have it at hand"
)]
fn a_parameter_that_is_none_is_left_out() {
    let mut request = RequestFields::new();
    request
        .field("memo", &None::<&str>)
        .expect("a good parameter");
    request
        .field("note", &&Some(None::<u8>))
        .expect("a good parameter");
    request
        .field("to", &mut &None::<u8>)
        .expect("a good parameter");
    assert_eq!(request.into_canonical(), br#"{"note":null}"#);
}

#[test]
fn a_refused_parameter_is_named_and_leaves_the_others_whole() {
    let mut request = RequestFields::new();
    request.field("b", "x").expect("a good parameter");
    let bad = BTreeMap::from([("a", 1.0), ("k", 2.0), ("z", f64::NAN)]);
    let refused = request.field("cmd", &[bad]).expect_err("not a number");
    assert_eq!(refused.field(), &Field::Parameter(Cow::Borrowed("cmd")));
    assert_eq!(
        refused.to_string(),
        "parameter `cmd` has a number that is infinite or not a number"
    );
    request.field("a", &1).expect("a good parameter");
    request.field("cmd", &2).expect("the name is free again");
    assert_eq!(request.into_canonical(), br#"{"a":1,"b":"x","cmd":2}"#);
}

#[test]
fn a_parameter_is_given_once() {
    let mut request = RequestFields::new();
    request.field("a", &1).expect("a good parameter");
    let refused = request.field("a", &2).expect_err("given twice");
    assert_eq!(refused.reason(), &Reason::Duplicate("a".to_owned()));
    assert_eq!(request.into_canonical(), br#"{"a":1}"#);
}

#[test]
fn the_pieces_of_a_fingerprint_do_not_run_into_each_other() {
    let hash = |n, o, j: &[u8]| Fingerprint::compute(1, n, o, j).expect("a known version");
    let base = hash("ab", "cd", b"{}");
    assert_eq!(base, hash("ab", "cd", b"{}"));
    assert_ne!(base, hash("abc", "d", b"{}"));
    assert_ne!(base, hash("a", "bcd", b"{}"));
    assert_ne!(base, hash("ab", "cd{", b"}"));
    assert_eq!(Fingerprint::from_bytes(*base.as_bytes()), base);
}

#[test]
fn an_unknown_version_has_no_fingerprint() {
    for version in [i16::MIN, -1, 0, 2, 257, i16::MAX] {
        assert_eq!(Fingerprint::compute(version, "n", "o", b"{}"), None);
    }
}
