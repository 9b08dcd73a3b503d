//! Property tests over random values.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::{json, text};
use crate::values::error::Reason;
use crate::values::fingerprint::canonical_text;

/// A JSON tree whose objects keep the order of their members.
#[derive(Clone, Debug)]
enum Tree {
    Leaf(Value),
    Array(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl Tree {
    fn any() -> impl Strategy<Value = Self> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_filter_map("finite", |f| f.is_finite().then(|| Value::from(f))),
            (-1000..1000).prop_map(|n| Value::from(f64::from(n) / 8.0)),
            halfway(),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_map(Self::Leaf).prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Self::Array),
                prop::collection::btree_map("[a-c\n\"\u{e9}\u{1f511}]{0,3}", inner, 0..6)
                    .prop_map(|members| Self::Object(members.into_iter().collect())),
            ]
        })
    }

    /// Reorders the members of each object by `seed`.
    fn permuted(&self, seed: u64) -> Self {
        match self {
            Self::Leaf(_) => self.clone(),
            Self::Array(items) => Self::Array(items.iter().map(|i| i.permuted(seed)).collect()),
            Self::Object(members) => {
                let mut members: Vec<_> = members
                    .iter()
                    .map(|(name, tree)| (name.clone(), tree.permuted(seed)))
                    .collect();
                members.sort_by_cached_key(|(name, _)| {
                    name.bytes().fold(seed, |hash, byte| {
                        (hash ^ u64::from(byte)).wrapping_mul(0x9e37_79b9)
                    })
                });
                Self::Object(members)
            }
        }
    }

    /// Returns the JSON text in the given order, with white space.
    fn text(&self) -> String {
        match self {
            Self::Leaf(value) => format!(" {value}\t"),
            Self::Array(items) => {
                let items: Vec<_> = items.iter().map(Self::text).collect();
                format!("[{}]", items.join(","))
            }
            Self::Object(members) => {
                let members: Vec<_> = members
                    .iter()
                    .map(|(name, tree)| format!("\n{}:{}", Value::from(name.as_str()), tree.text()))
                    .collect();
                format!("{{{} }}", members.join(","))
            }
        }
    }

    fn value(&self) -> Value {
        match self {
            Self::Leaf(value) => value.clone(),
            Self::Array(items) => items.iter().map(Self::value).collect(),
            Self::Object(members) => members
                .iter()
                .map(|(name, tree)| (name.clone(), tree.value()))
                .collect(),
        }
    }
}

/// Generates floats that lie halfway between two shortest decimals, where printers disagree.
#[expect(clippy::cast_precision_loss, reason = "below 2^53 none is lost")]
fn halfway() -> impl Strategy<Value = Value> {
    let quarters = 4_503_599_627_370_496_i64..9_007_199_254_740_992;
    quarters.prop_map(|n| Value::from((n | 1) as f64 / 4.0))
}

/// A second implementation of the canonical form: the documented rules without optimisation.
fn by_the_rules(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => value.to_string(),
        Value::Number(number) => number_by_the_rules(&number.to_string()),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(by_the_rules).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let sorted: BTreeMap<Vec<char>, (&String, &Value)> = members
                .iter()
                .map(|(name, value)| (name.chars().collect(), (name, value)))
                .collect();
            let members: Vec<_> = sorted
                .values()
                .map(|(name, value)| {
                    format!("{}:{}", Value::from(name.as_str()), by_the_rules(value))
                })
                .collect();
            format!("{{{}}}", members.join(","))
        }
    }
}

fn number_by_the_rules(text: &str) -> String {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (mantissa, power) = text.split_once('e').unwrap_or((text, "0"));
    let mut power: i64 = power.parse().expect("a power of ten");
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = format!("{whole}{fraction}");
    for _ in fraction.chars() {
        power -= 1;
    }
    while digits.starts_with('0') {
        digits.remove(0);
    }
    while digits.ends_with('0') {
        digits.pop();
        power += 1;
    }
    if digits.is_empty() {
        return "0".to_owned();
    }
    let exponent = format!("{digits}e{power}");
    let mut plain = digits;
    if power < 0 {
        let decimals = usize::try_from(-power).expect("few places");
        while plain.len() <= decimals {
            plain.insert(0, '0');
        }
        plain.insert(plain.len() - decimals, '.');
    }
    for _ in 0..power {
        plain.push('0');
    }
    let shorter = if plain.len() <= exponent.len() {
        plain
    } else {
        exponent
    };
    format!("{sign}{shorter}")
}

proptest! {
    #[test]
    fn the_order_of_members_does_not_count(tree in Tree::any(), seed: u64) {
        let canonical = text(&tree.text());
        prop_assert_eq!(&canonical, &text(&tree.permuted(seed).text()));
        prop_assert_eq!(&canonical, &json(&tree.permuted(seed).value()));
    }

    #[test]
    fn a_value_and_its_text_have_the_form_that_the_rules_say(tree in Tree::any()) {
        let expected = by_the_rules(&tree.value());
        prop_assert_eq!(&json(&tree.value()), &expected);
        prop_assert_eq!(&text(&tree.text()), &expected);
    }

    #[test]
    fn a_canonical_form_is_never_longer_than_what_it_was_made_of(tree in Tree::any()) {
        prop_assert!(text(&tree.text()).len() <= tree.text().len());
        let written = serde_json::to_string(&tree.value()).expect("JSON");
        prop_assert!(json(&tree.value()).len() <= written.len(), "{}", written);
    }

    #[test]
    fn a_canonical_form_is_its_own_canonical_form(tree in Tree::any()) {
        let once = text(&tree.text());
        prop_assert_eq!(&text(&once), &once);
    }

    #[test]
    fn strings_are_escaped_as_serde_json_escapes_them(string: String) {
        prop_assert_eq!(json(&string), serde_json::to_string(&string).expect("a string"));
    }

    #[test]
    fn values_that_differ_have_forms_that_differ(a in Tree::any(), b in Tree::any()) {
        let (a, b) = (a.value(), b.value());
        prop_assert_eq!(json(&a) == json(&b), by_the_rules(&a) == by_the_rules(&b));
    }

    /// Replaces one byte of valid text and compares the verdicts of both parsers.
    #[test]
    fn text_is_accepted_when_serde_json_accepts_it(
        tree in Tree::any(),
        index: prop::sample::Index,
        byte in prop::sample::select(b"\"\\{}[],:-+.0189eEutrfn \n\x00\xc3\xff".to_vec()),
    ) {
        let mut json = tree.text().into_bytes();
        let index = index.index(json.len());
        json[index] = byte;
        let theirs = serde_json::from_slice::<Value>(&json);
        match canonical_text(&json) {
            // Only a number too large for an `f64` may be accepted here and refused there.
            Ok(_) => if let Err(error) = theirs {
                prop_assert!(error.to_string().starts_with("number out of range"), "{}", error);
            },
            Err(invalid) => prop_assert!(
                theirs.is_err() || matches!(invalid.reason(), Reason::Duplicate(_) | Reason::Number(_)),
                "{}", invalid
            ),
        }
    }
}
