//! Tests of the messages that are sent.

use super::*;
use crate::values::identity::Identity;
use crate::values::key::{IdempotencyKey, Scope};
use crate::values::record::{RecordFormat, Status};

pub(super) fn request(key: &str) -> PgClaimRequest {
    let key = IdempotencyKey::parse(Some(key)).unwrap().unwrap();
    PgClaimRequest::new(
        "app.payments",
        Identity::of_operation("n", Scope::GLOBAL, key),
    )
}

#[test]
fn of_a_value_nothing_but_hex_and_integers_is_sent() {
    let request = request("'); DROP TABLE x; --\\");
    let record = NewRecord {
        status: Status::Completed,
        operation: "o'\\p",
        fingerprint: None,
        format: RecordFormat::CLEAR,
        request: Some(b"'r\\"),
        result: Some(b"'\\\"\0"),
        failure: None,
        retention: 42,
        replaces: None,
        attempt: 1,
    };
    let text = sql::record_and_commit(&found_none(&request).claim, &record, BodyWrites::Discard);
    assert!(text.contains("E'\\\\x27293b2044524f50205441424c4520783b202d2d5c'"));
    assert!(text.contains("E'\\\\x275c2200',NULL,42,1,1); COMMIT AND CHAIN"));
    assert!(!text.contains('"') && !text.contains("DROP"));
    for (before, literal) in literals(&text) {
        // Only `E'\\x…'` has backslashes: elsewhere their meaning depends on a setting of the server.
        let value = literal.strip_prefix("\\\\x").filter(|_| before == 'E');
        assert!(
            value
                .unwrap_or(literal)
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || byte == b'-'),
            "{literal}"
        );
    }
}

/// Returns the text between quotes, with the character before it.
fn literals(text: &str) -> Vec<(char, &str)> {
    let pieces: Vec<_> = text.split('\'').collect();
    let quoted = pieces.chunks_exact(2);
    quoted
        .map(|pair| (pair[0].chars().last().unwrap_or_default(), pair[1]))
        .collect()
}

#[test]
fn statements_of_other_texts_have_other_names_and_those_fit() {
    let (one, other) = (sql::Names::new("a"), sql::Names::new("b"));
    assert_ne!(one.look, other.look);
    // PostgreSQL cuts names at 63 bytes.
    for (name, _) in one.statements("a", None) {
        assert!(
            name.len() <= 63
                && name
                    .bytes()
                    .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        );
    }
}

#[test]
fn the_last_of_the_options_says_whether_units_are_fused() {
    assert!(is_on(None));
    assert!(is_on(Some("-c geqo=off")));
    assert!(!is_on(Some("-c geqo=off -c idem.fused=off")));
    assert!(!is_on(Some("--idem.fused=off")));
    assert!(!is_on(Some("-cidem.fused=off")));
    assert!(is_on(Some("-c idem.fused=off -c idem.fused=on")));
    assert!(!is_on(Some("-c idem.fused=of")));
}
