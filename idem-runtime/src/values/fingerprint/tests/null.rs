//! Tests of explicit nulls and absent fields.
#![expect(clippy::option_option, reason = "what is tested")]

use proptest::prelude::*;
use serde::Serialize;
use serde::ser::Serializer;
use serde_json::Value;

use super::json;

/// Returns the forms of a field with this value in a struct, in a struct variant and in an
/// internally tagged variant.
fn forms<T: Serialize + Clone>(value: &T) -> [String; 3] {
    #[derive(Serialize)]
    struct Plain<T> {
        x: T,
    }
    #[derive(Serialize)]
    enum Variant<T> {
        Is { x: T },
    }
    #[derive(Serialize)]
    #[serde(tag = "kind")]
    enum Tagged<T> {
        Is { x: T },
    }
    let x = || value.clone();
    [
        json(&Plain { x: x() }),
        json(&Variant::Is { x: x() }),
        json(&Tagged::Is { x: x() }),
    ]
}

const ABSENT: [&str; 3] = ["{}", r#"{"Is":{}}"#, r#"{"kind":"Is"}"#];
const NULL: [&str; 3] = [
    r#"{"x":null}"#,
    r#"{"Is":{"x":null}}"#,
    r#"{"kind":"Is","x":null}"#,
];

#[derive(Serialize, Clone)]
struct Unit;

#[derive(Serialize, Clone)]
struct Wrapper(Option<u8>);

#[derive(Serialize, Clone)]
#[serde(transparent)]
struct Transparent {
    inner: Option<Option<u8>>,
}

#[derive(Serialize, Clone)]
#[serde(untagged)]
enum Untagged {
    Nothing,
    Text(Option<u8>),
}

#[test]
fn only_an_option_that_is_none_is_absent() {
    assert_eq!(forms(&None::<u8>), ABSENT);
    assert_eq!(forms(&None::<Option<u8>>), ABSENT);
    assert_eq!(forms(&&None::<u8>), ABSENT);
    assert_eq!(forms(&None::<Value>), ABSENT);
    assert_eq!(forms(&Some(None::<u8>)), NULL);
    assert_eq!(forms(&Some(None::<Option<u8>>)), NULL);
    assert_eq!(forms(&Some(Some(None::<u8>))), NULL);
    assert_eq!(forms(&Some(())), NULL);
    assert_eq!(forms(&()), NULL);
    assert_eq!(forms(&Unit), NULL);
    assert_eq!(forms(&Some(Unit)), NULL);
    assert_eq!(forms(&Value::Null), NULL);
    assert_eq!(forms(&Some(Value::Null)), NULL);
    assert_eq!(forms(&Wrapper(None)), NULL);
    assert_eq!(forms(&Some(Wrapper(None))), NULL);
    assert_eq!(forms(&Transparent { inner: None }), NULL);
    assert_eq!(forms(&Untagged::Nothing), NULL);
    assert_eq!(forms(&Untagged::Text(None)), NULL);
}

#[test]
fn a_null_that_was_said_differs_from_a_field_that_is_skipped() {
    /// Serializes as `double_option` of `serde_with` and `MaybeUndefined` of `async-graphql` do.
    #[expect(
        clippy::ref_option,
        clippy::trivially_copy_pass_by_ref,
        reason = "as serde calls it"
    )]
    fn explicit<S: Serializer>(
        nick: &Option<Option<u8>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match nick {
            None => serializer.serialize_unit(),
            Some(None) => serializer.serialize_none(),
            Some(Some(nick)) => serializer.serialize_some(nick),
        }
    }
    #[derive(Serialize, Default)]
    struct Patch {
        #[serde(skip_serializing_if = "Option::is_none")]
        derived: Option<Option<u8>>,
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "explicit")]
        explicit: Option<Option<u8>>,
        always: Option<Option<u8>>,
    }
    assert_eq!(json(&Patch::default()), "{}");
    let patch = |inner| Patch {
        derived: Some(inner),
        explicit: Some(inner),
        always: Some(inner),
    };
    assert_eq!(
        json(&patch(None)),
        r#"{"always":null,"derived":null,"explicit":null}"#
    );
    assert_eq!(
        json(&patch(Some(1))),
        r#"{"always":1,"derived":1,"explicit":1}"#
    );
}

#[test]
fn what_a_field_before_told_does_not_count() {
    #[derive(Serialize)]
    struct Two {
        a: Option<u8>,
        b: (),
        c: Option<()>,
        d: Vec<Option<u8>>,
        e: Value,
    }
    let two = Two {
        a: None,
        b: (),
        c: Some(()),
        d: vec![None],
        e: Value::Null,
    };
    assert_eq!(json(&two), r#"{"b":null,"c":null,"d":[null],"e":null}"#);
}

#[test]
fn a_flattened_field_that_is_none_adds_nothing_and_its_nulls_stay() {
    #[derive(Serialize)]
    struct Inner {
        #[serde(skip_serializing_if = "Option::is_none")]
        x: Option<Option<u8>>,
    }
    #[derive(Serialize)]
    struct Outer {
        #[serde(flatten)]
        inner: Option<Inner>,
    }
    let outer = |inner| json(&Outer { inner });
    assert_eq!(outer(None), "{}");
    assert_eq!(outer(Some(Inner { x: None })), "{}");
    assert_eq!(outer(Some(Inner { x: Some(None) })), r#"{"x":null}"#);
}

#[derive(Serialize, Debug, Clone, PartialEq)]
struct Options {
    a: Option<u8>,
    b: Option<Option<u8>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    c: Option<Option<Option<()>>>,
}

proptest! {
    /// Nesting deeper than one `Some` is excluded: JSON has one null for all of it.
    #[test]
    fn options_are_one_request_exactly_when_they_are_equal(
        a: [Option<u8>; 2], b: [Option<Option<u8>>; 2], c: [Option<Option<Option<()>>>; 2],
    ) {
        let options = |n: usize| Options { a: a[n], b: b[n], c: c[n].map(|inner| inner.filter(Option::is_some)) };
        let (one, other) = (options(0), options(1));
        let same_null = |options: &Options| Options { c: options.c.map(|_| None), ..options.clone() };
        prop_assert_eq!(json(&one) == json(&other), same_null(&one) == same_null(&other));
    }
}
