//! Tests of the order of members whose names share a prefix.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::json;

/// An object that serializes its members in the order in which they are listed.
struct OrderedFields<'a>(&'a [String]);

impl Serialize for OrderedFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (number, name) in self.0.iter().enumerate() {
            map.serialize_entry(name, &number)?;
        }
        map.end()
    }
}

/// Generates names slightly shorter or longer than one word, with bytes equal to the padding.
fn names() -> impl Strategy<Value = Vec<String>> {
    prop::collection::btree_set("(abcdef)?[gh\u{0}]{0,3}[\u{0}i\u{e9}]{0,3}", 1..12)
        .prop_map(|names| names.into_iter().collect::<Vec<_>>())
        .prop_shuffle()
}

proptest! {
    #[test]
    fn names_are_ordered_by_all_of_their_bytes(names in names()) {
        let sorted: BTreeMap<_, _> = names.iter().zip(0..).collect();
        let members: Vec<_> = sorted
            .iter()
            .map(|(name, number)| format!("{}:{number}", serde_json::Value::from(name.as_str())))
            .collect();
        prop_assert_eq!(json(&OrderedFields(&names)), format!("{{{}}}", members.join(",")));
    }
}

#[test]
fn fields_are_ordered_by_all_of_their_bytes() {
    #[derive(Serialize)]
    struct Parcel {
        shipping_street: u8,
        shipping: u8,
        shipping_city: u8,
        shippin: u8,
    }
    let parcel = Parcel {
        shipping_street: 1,
        shipping: 2,
        shipping_city: 3,
        shippin: 4,
    };
    assert_eq!(
        json(&parcel),
        r#"{"shippin":4,"shipping":2,"shipping_city":3,"shipping_street":1}"#
    );
}
