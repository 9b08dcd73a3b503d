//! Keys, scopes and namespaces.

use std::borrow::Cow;

use proptest::prelude::*;
use uuid::Uuid;

use super::limits::{KEY_MAX, NAMESPACE_MAX, SCOPE_MAX};
use super::{IdempotencyKey, KeySource, Namespace, Scope, ScopeSource};
use crate::values::error::{Error, Field, Reason};

fn key(text: &str) -> IdempotencyKey {
    text.parse().expect("a good key")
}

fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> (Field, Reason) {
    match result.expect_err("to be refused") {
        Error::Invalid(invalid) => (invalid.field().clone(), invalid.reason().clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn keys_differ_by_case_inner_space_and_normal_form() {
    let texts = [
        "Req-A",
        "req-a",
        "req a",
        "req  a",
        "r\u{e9}q",
        "re\u{301}q",
    ];
    for (i, a) in texts.iter().enumerate() {
        for (j, b) in texts.iter().enumerate() {
            assert_eq!(key(a) == key(b), i == j, "{a:?} and {b:?}");
        }
    }
}

#[test]
fn a_key_is_trimmed_of_all_unicode_white_space() {
    assert_eq!(key("\t\u{2003}\u{a0}a b\u{3000}\r\n").as_str(), "a b");
}

#[test]
fn an_absent_key_is_none_and_a_blank_one_is_refused() {
    assert_eq!(IdempotencyKey::parse(None).expect("no key"), None);
    for blank in ["", " ", "\t\r\n", "\u{2003}"] {
        assert_eq!(
            refusal(IdempotencyKey::parse(Some(blank))),
            (Field::Key, Reason::Empty)
        );
    }
}

#[test]
fn a_key_is_bounded_in_characters_after_trimming() {
    for unit in ["k", "\u{e9}", "\u{1f511}"] {
        let padded = format!("  {}  ", unit.repeat(KEY_MAX));
        assert_eq!(key(&padded).as_str().chars().count(), KEY_MAX);
        assert_eq!(
            refusal(unit.repeat(KEY_MAX + 1).parse::<IdempotencyKey>()),
            (
                Field::Key,
                Reason::TooLong {
                    limit: 255,
                    length: 256
                }
            )
        );
    }
}

#[test]
fn a_control_character_in_a_key_is_refused_wherever_it_stands() {
    for found in ['\0', '\u{1f}', '\u{7f}', '\u{80}', '\u{9f}'] {
        let text = format!("\u{e9}k{found}k");
        assert_eq!(
            refusal(text.parse::<IdempotencyKey>()),
            (Field::Key, Reason::Control { found, index: 2 })
        );
    }
}

#[test]
fn a_namespace_has_only_the_allowed_characters_and_64_of_them() {
    let longest = "a".repeat(NAMESPACE_MAX);
    for good in ["p", "0-9_z", longest.as_str()] {
        assert_eq!(
            Namespace::new(good).expect("a good namespace").as_str(),
            good
        );
    }
    for (bad, found, index) in [("Pay", 'P', 0), ("a b", ' ', 1), ("a\u{e9}", '\u{e9}', 1)] {
        let (field, reason) = refusal(Namespace::new(bad));
        assert_eq!(field, Field::Namespace);
        assert!(
            matches!(reason, Reason::Character { found: f, index: i, .. } if f == found && i == index)
        );
    }
    assert_eq!(refusal(Namespace::new("")).1, Reason::Empty);
    assert_eq!(
        refusal(Namespace::new("a".repeat(65))).1,
        Reason::TooLong {
            limit: 64,
            length: 65
        }
    );
}

#[test]
fn a_constant_namespace_equals_the_checked_one() {
    const PAYMENTS: Namespace = Namespace::from_static("payments");
    assert_eq!(
        Namespace::new("payments").expect("a good namespace"),
        PAYMENTS
    );
}

#[test]
fn a_scope_is_kept_as_given_and_bounded() {
    assert_eq!(
        Scope::new(" acme ").expect("a good scope").as_str(),
        " acme "
    );
    assert!(Scope::new("s".repeat(SCOPE_MAX)).is_ok());
    assert_eq!(
        refusal(Scope::new("s".repeat(SCOPE_MAX + 1))),
        (
            Field::Scope,
            Reason::TooLong {
                limit: 255,
                length: 256
            }
        )
    );
    assert_eq!(
        refusal(Scope::new("a\nb")).1,
        Reason::Control {
            found: '\n',
            index: 1
        }
    );
}

#[test]
fn no_text_is_taken_for_the_global_scope() {
    assert_eq!(refusal(Scope::new("")), (Field::Scope, Reason::Empty));
    assert_eq!(refusal(Scope::new(" ")), (Field::Scope, Reason::Empty));
    assert!(Scope::GLOBAL.is_global() && Scope::global().as_str().is_empty());
    assert!(!Scope::new("global").expect("a good scope").is_global());
}

#[test]
fn a_parsed_key_has_no_scope_until_one_is_said() {
    let acme = Scope::new("acme").expect("a good scope");
    assert_eq!(key("k").scope(), None);
    assert_eq!(key("k").scoped(acme.clone()).scope(), Some(&acme));
    assert_eq!(key("k").scoped(acme).global().scope(), Some(&Scope::GLOBAL));
    assert_ne!(key("k"), key("k").global());
}

#[test]
fn a_key_is_never_printed() {
    let shown = format!("{:?}", key("secret"));
    assert!(!shown.contains("secret"));
    // The first 12 digits of `printf secret | sha256sum`.
    assert_eq!(key("secret").short_hash(), "2bb80d537b1d");
    assert!(shown.contains("2bb80d537b1d"));
    let refused = "secret\0"
        .parse::<IdempotencyKey>()
        .expect_err("a control character");
    assert_eq!(
        refused.to_string(),
        "key has the control character U+0000 at character 6"
    );
}

#[test]
fn a_child_key_keeps_the_scope_and_differs_by_label_and_parent() {
    let acme = Scope::new("acme").expect("a good scope");
    let parent = key("k").scoped(acme.clone());
    let child = parent.child("line-1").expect("a good label");
    assert_eq!(child.scope(), Some(&acme));
    assert_eq!(
        key("k").child("line-1").expect("a good label").scope(),
        None
    );
    let of = |parent: &IdempotencyKey, label| parent.child(label).expect("a good label");
    assert_eq!(child, of(&parent, "line-1"));
    assert_ne!(child, of(&parent, "line-2"));
    assert_ne!(child, of(&key("l").scoped(acme), "line-1"));
    assert_eq!(
        refusal(parent.child(" ")),
        (Field::ChildLabel, Reason::Empty)
    );
}

#[test]
fn a_derived_key_is_global_and_lacks_no_part() {
    let derived = IdempotencyKey::derive(["acme", "17"]).expect("good parts");
    assert_eq!(derived.scope(), Some(&Scope::GLOBAL));
    assert_eq!(
        refusal(IdempotencyKey::derive([] as [&str; 0])),
        (Field::KeyPart(0), Reason::Empty)
    );
    assert_eq!(
        refusal(IdempotencyKey::derive(["acme", " "])),
        (Field::KeyPart(1), Reason::Empty)
    );
}

#[test]
fn every_form_of_one_key_is_the_same_key() {
    let k = key("k");
    let same: [&dyn KeySource; 9] = [
        &"k",
        &"k".to_owned(),
        &Cow::Borrowed("k"),
        &k,
        &&k,
        &Some(&k),
        &Some("k".to_owned()),
        &IdempotencyKey::parse(Some("k")),
        &"k".parse::<IdempotencyKey>(),
    ];
    for source in same {
        assert_eq!(source.idempotency_key(), Ok(Some(k.clone())));
    }
    assert_eq!(None::<String>.idempotency_key(), Ok(None));
    assert_eq!(IdempotencyKey::parse(None).idempotency_key(), Ok(None));
    assert!(IdempotencyKey::parse(Some("")).idempotency_key().is_err());
    assert!("".idempotency_key().is_err());
    let uuid = Uuid::from_u128(0xA0B1_C2D3_0000_4000_8000_0000_0000_00FF);
    let hyphenated = key("a0b1c2d3-0000-4000-8000-0000000000ff");
    assert_eq!(uuid.idempotency_key(), Ok(Some(hyphenated)));
    assert_eq!((-7_i64).idempotency_key(), Ok(Some(key("-7"))));
    assert_eq!(
        u128::MAX.idempotency_key(),
        Ok(Some(key(&u128::MAX.to_string())))
    );
}

#[test]
fn another_error_in_the_place_of_a_key_or_a_scope_names_itself_and_no_more() {
    let operation = "pay".into();
    let key: Result<IdempotencyKey, _> = Err(Error::KeyMissing { operation });
    let refused = key.idempotency_key().expect_err("no key");
    assert_eq!(
        refused.to_string(),
        "key could not be computed: `Error::KeyMissing`"
    );
    let scope: Result<Scope, _> = Err(Error::NestedSameKey);
    let refused = scope.scope().expect_err("no scope");
    assert_eq!(
        refused.to_string(),
        "scope could not be computed: `Error::NestedSameKey`"
    );
}

#[test]
fn every_form_of_one_scope_is_the_same_scope() {
    let acme = Scope::new("acme").expect("a good scope");
    let same: [&dyn ScopeSource; 6] = [
        &"acme",
        &"acme".to_owned(),
        &Cow::Borrowed("acme"),
        &acme,
        &&acme,
        &Scope::new("acme"),
    ];
    for source in same {
        assert_eq!(source.scope(), Ok(acme.clone()));
    }
    assert!("".scope().is_err());
    let tenant = Uuid::from_u128(0xA0B1_C2D3_0000_4000_8000_0000_0000_00FF);
    assert_eq!(tenant.scope(), tenant.to_string().scope());
    assert_eq!((-7_i64).scope(), "-7".scope());
    assert_eq!(0_u8.scope(), "0".scope());
    assert_eq!(Scope::GLOBAL.scope(), Ok(Scope::GLOBAL));
}

proptest! {
    #[test]
    fn a_key_is_its_own_text_read_again(text in "\\PC{1,40}") {
        if let Ok(once) = text.parse::<IdempotencyKey>() {
            prop_assert_eq!(once.as_str(), text.trim());
            prop_assert_eq!(key(once.as_str()), once);
        } else {
            prop_assert!(text.trim().is_empty());
        }
    }

    #[test]
    fn parts_that_differ_give_keys_that_differ(
        a in prop::collection::vec("[ab]{1,3}", 1..4),
        b in prop::collection::vec("[ab]{1,3}", 1..4),
    ) {
        let key = |parts: &[String]| IdempotencyKey::derive(parts).expect("good parts");
        prop_assert_eq!(key(&a) == key(&b), a == b);
    }
}
