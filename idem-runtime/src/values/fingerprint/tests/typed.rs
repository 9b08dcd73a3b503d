//! Tests of each shape of serde's data model.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde::ser::{SerializeMap, SerializeStruct, Serializer};
use serde_json::json as value;

use super::{json, refused};
use crate::values::error::Reason;
use crate::values::fingerprint::Fingerprint;

#[derive(Serialize)]
enum Decision {
    Pending,
    Approve(Option<u8>),
    Reject(Option<u8>),
    Pair(Option<u8>, u8),
    Prompt { zone: u8, by: Option<u8> },
}

#[test]
fn members_are_sorted_by_code_point_before_escaping() {
    #[derive(Serialize)]
    struct Wide {
        z: u8,
        #[serde(rename = "\u{1f511}")]
        beyond: u8,
        #[serde(rename = "\u{ffff}")]
        last_of_plane: u8,
        #[serde(rename = "\n")]
        line_feed: u8,
        #[serde(rename = "A")]
        upper: u8,
        #[serde(rename = "")]
        empty: u8,
    }
    let wide = Wide {
        z: 1,
        beyond: 2,
        last_of_plane: 3,
        line_feed: 4,
        upper: 5,
        empty: 6,
    };
    let sorted = "{\"\":6,\"\\n\":4,\"A\":5,\"z\":1,\"\u{ffff}\":3,\"\u{1f511}\":2}";
    assert_eq!(json(&wide), sorted);
}

#[test]
fn an_added_option_field_does_not_change_the_fingerprint() {
    #[derive(Serialize)]
    struct Old {
        to: &'static str,
        amount: u64,
    }
    #[derive(Serialize)]
    struct New {
        memo: Option<&'static str>,
        to: &'static str,
        tags: Option<Vec<u8>>,
        amount: u64,
    }
    let hash = |canonical: String| Fingerprint::compute(1, "n", "o", canonical.as_bytes());
    let (to, amount) = ("acme", 12);
    let old = json(&[Old { to, amount }]);
    let new = |memo, tags| {
        json(&[New {
            memo,
            to,
            tags,
            amount,
        }])
    };
    assert_eq!(hash(old.clone()), hash(new(None, None)));
    assert_ne!(hash(old.clone()), hash(new(Some("x"), None)));
    assert_ne!(hash(old), hash(new(None, Some(vec![]))));
}

#[test]
fn a_null_field_is_left_out_wherever_it_stands() {
    #[derive(Serialize)]
    struct Three {
        a: Option<u8>,
        b: Option<u8>,
        c: Option<u8>,
    }
    let three = |a, b, c| json(&Three { a, b, c });
    assert_eq!(three(None, None, None), "{}");
    assert_eq!(three(Some(1), None, None), r#"{"a":1}"#);
    assert_eq!(three(None, Some(2), None), r#"{"b":2}"#);
    assert_eq!(three(None, None, Some(3)), r#"{"c":3}"#);
    assert_eq!(three(Some(1), None, Some(3)), r#"{"a":1,"c":3}"#);
}

#[test]
fn a_text_that_ends_in_null_is_no_null() {
    #[derive(Serialize)]
    struct Note {
        text: &'static str,
        list: [Option<u8>; 1],
    }
    let note = Note {
        text: "null",
        list: [None],
    };
    assert_eq!(json(&note), r#"{"list":[null],"text":"null"}"#);
}

#[test]
fn null_stays_in_maps_arrays_tuples_and_variants() {
    assert_eq!(json(&HashMap::from([("a", None::<u8>)])), r#"{"a":null}"#);
    assert_eq!(json(&value!({"b": {"a": null}})), r#"{"b":{"a":null}}"#);
    assert_eq!(json(&[None, Some(1)]), "[null,1]");
    assert_eq!(json(&(None::<u8>, 1)), "[null,1]");
    assert_eq!(json(&Decision::Approve(None)), r#"{"Approve":null}"#);
    assert_ne!(
        json(&Decision::Approve(None)),
        json(&Decision::Reject(None))
    );
    assert_eq!(json(&Decision::Pair(None, 1)), r#"{"Pair":[null,1]}"#);
    assert_eq!(json(&()), "null");
}

#[test]
fn a_struct_variant_is_a_struct() {
    let prompt = |by| json(&Decision::Prompt { zone: 1, by });
    assert_eq!(prompt(Some(2)), r#"{"Prompt":{"by":2,"zone":1}}"#);
    assert_eq!(prompt(None), r#"{"Prompt":{"zone":1}}"#);
    assert_eq!(json(&Decision::Pending), r#""Pending""#);
}

#[test]
fn a_flattened_struct_is_a_map_and_keeps_its_nulls() {
    #[derive(Serialize)]
    struct Inner {
        a: Option<u8>,
    }
    #[derive(Serialize)]
    struct Outer {
        b: Option<u8>,
        #[serde(flatten)]
        inner: Inner,
    }
    let outer = Outer {
        b: None,
        inner: Inner { a: None },
    };
    assert_eq!(json(&outer), r#"{"a":null,"b":null}"#);
}

#[test]
fn an_internally_tagged_enum_is_a_struct() {
    #[derive(Serialize)]
    #[serde(tag = "kind")]
    enum Event {
        Paid { at: u8, by: Option<u8> },
    }
    assert_eq!(
        json(&Event::Paid { at: 1, by: None }),
        r#"{"at":1,"kind":"Paid"}"#
    );
}

#[test]
fn wrappers_are_transparent_and_bytes_are_numbers() {
    #[derive(Serialize)]
    struct Meters(u8);
    #[derive(Serialize)]
    struct Point(u8, u8);
    #[derive(Serialize)]
    struct Empty;
    struct Bytes;
    impl Serialize for Bytes {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(&[0, 255])
        }
    }
    assert_eq!(json(&Meters(3)), "3");
    assert_eq!(json(&Point(1, 2)), "[1,2]");
    assert_eq!(json(&Empty), "null");
    assert_eq!(json(&Bytes), "[0,255]");
    assert_eq!(json(&Some('"')), r#""\"""#);
    assert_eq!(json(&std::net::Ipv4Addr::LOCALHOST), r#""127.0.0.1""#);
}

#[test]
fn map_keys_become_names_as_in_serde_json() {
    #[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
    enum Side {
        Left,
    }
    assert_eq!(
        json(&BTreeMap::from([(9, 1), (10, 2), (-1, 3)])),
        r#"{"-1":3,"10":2,"9":1}"#
    );
    assert_eq!(
        json(&BTreeMap::from([(u128::MAX, 1)])),
        format!("{{\"{}\":1}}", u128::MAX)
    );
    assert_eq!(json(&BTreeMap::from([(true, 1)])), r#"{"true":1}"#);
    assert_eq!(json(&BTreeMap::from([('"', 1)])), r#"{"\"":1}"#);
    assert_eq!(json(&BTreeMap::from([(Side::Left, 1)])), r#"{"Left":1}"#);
}

#[test]
fn a_map_key_that_is_no_text_is_refused() {
    assert!(matches!(
        refused(&BTreeMap::from([((1, 2), 3)])),
        Reason::Serialize(_)
    ));
    assert!(matches!(
        refused(&BTreeMap::from([(None::<u8>, 3)])),
        Reason::Serialize(_)
    ));
}

#[test]
fn two_members_of_one_name_are_refused() {
    struct Twice;
    impl Serialize for Twice {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            map.serialize_entry("b", &1)?;
            map.serialize_entry("a", &1)?;
            map.serialize_entry("b", &1)?;
            map.end()
        }
    }
    assert_eq!(refused(&[Twice]), Reason::Duplicate("b".to_owned()));
}

#[test]
fn raw_json_is_read_and_keeps_its_nulls() {
    struct Raw(&'static str);
    impl Serialize for Raw {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            const NAME: &str = "$serde_json::private::RawValue";
            let mut fields = serializer.serialize_struct(NAME, 1)?;
            fields.serialize_field(NAME, self.0)?;
            fields.end()
        }
    }
    #[derive(Serialize)]
    struct Carrier {
        z: u8,
        raw: Raw,
    }
    let carrier = Carrier {
        z: 1,
        raw: Raw(r#"{ "b": 1.0, "a": null }"#),
    };
    assert_eq!(json(&carrier), r#"{"raw":{"a":null,"b":1},"z":1}"#);
    assert!(matches!(refused(&Raw("{")), Reason::NotJson { .. }));
}

#[test]
fn a_value_plays_no_part_in_the_order() {
    struct Shown(u8);
    impl Serialize for Shown {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(&self.0)
        }
    }
    struct Passed;
    impl Serialize for Passed {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            const NAME: &str = "$serde_json::private::Number";
            let mut fields = serializer.serialize_struct(NAME, 1)?;
            fields.serialize_field(NAME, "5")?;
            fields.end()
        }
    }
    #[derive(Serialize)]
    struct Both {
        b4: u8,
        b: Passed,
        a4: u8,
        a: Shown,
    }
    let both = Both {
        b4: 1,
        b: Passed,
        a4: 2,
        a: Shown(5),
    };
    assert_eq!(json(&both), r#"{"a":"5","a4":2,"b":5,"b4":1}"#);
}

#[test]
fn a_failing_serialize_is_told_in_its_own_words() {
    struct Locked;
    impl Serialize for Locked {
        fn serialize<S: Serializer>(&self, _serializer: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("the lock is poisoned"))
        }
    }
    assert_eq!(
        refused(&[Locked]),
        Reason::Serialize("the lock is poisoned".to_owned())
    );
}

#[test]
fn objects_inside_objects_are_sorted_each() {
    let nested = value!({
        "b": {"z": [{"y": 1, "x": 2}], "a": {"d": 1, "c": {"f": 1, "e": 2}}},
        "a": {"k": {}, "j": []},
    });
    assert_eq!(
        json(&nested),
        r#"{"a":{"j":[],"k":{}},"b":{"a":{"c":{"e":2,"f":1},"d":1},"z":[{"x":2,"y":1}]}}"#
    );
}
