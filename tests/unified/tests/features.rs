//! The features that this member is about are in effect.

use serde_json::Value;

fn text_of(json: &str) -> String {
    serde_json::from_str::<Value>(json)
        .expect("valid JSON")
        .to_string()
}

#[test]
fn numbers_keep_their_text() {
    assert_eq!(text_of("1e400"), "1e+400");
    assert_eq!(text_of("1.50"), "1.50");
}

#[test]
fn members_keep_their_order() {
    assert_eq!(text_of(r#"{"b":1,"a":2}"#), r#"{"b":1,"a":2}"#);
}
