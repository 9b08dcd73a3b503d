//! A request as users write it, with derives: nested options, maps and sets.

#![expect(clippy::option_option, reason = "what is tested")]

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use idem_runtime::fingerprint::sorted;
use serde::{Serialize, Serializer};

use crate::node::Source;

/// Distinguishes `Some(None)` from `None`, as crates for double options do.
#[expect(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "as serde calls it"
)]
fn reported<S: Serializer>(value: &Option<Option<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        None => serializer.serialize_unit(),
        Some(None) => serializer.serialize_none(),
        Some(Some(value)) => serializer.serialize_some(value),
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub(crate) struct Order {
    plain: Option<u8>,
    double: Option<Option<u8>>,
    triple: Option<Option<Option<u8>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<Option<u8>>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "reported")]
    reported: Option<Option<u8>>,
    unit: Option<()>,
    text: Option<String>,
    numbers: Numbers,
    list: Vec<Option<Option<u8>>>,
    by_name: HashMap<String, Option<Option<u8>>>,
    by_number: BTreeMap<i16, Option<u8>>,
    set: BTreeSet<Option<u8>>,
    #[serde(serialize_with = "sorted")]
    loose: HashSet<(u8, Option<String>)>,
    choice: Choice,
    tagged: Option<Tagged>,
    either: Either,
    inner: Vec<Self>,
    flat: Flat,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
struct Numbers(u64, i128, f64);

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
enum Choice {
    #[default]
    Nothing,
    One(Option<Option<u8>>),
    Two(Option<u8>, u8),
    Fields {
        a: Option<Option<u8>>,
        b: Option<u8>,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind")]
enum Tagged {
    Empty,
    Full {
        a: Option<u8>,
        b: Option<Option<u8>>,
    },
}

/// Two variants are equal if they differ only in which of their fields is `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
enum Either {
    A { a: Option<u8> },
    B { b: Option<u8> },
}

impl Default for Either {
    fn default() -> Self {
        Self::A { a: None }
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
struct Flat {
    a: Option<Option<u8>>,
    #[serde(flatten)]
    inner: Option<FlatInner>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct FlatInner {
    b: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    c: Option<Option<u8>>,
}

fn option<'s, T>(source: &mut Source<'s>, make: impl FnOnce(&mut Source<'s>) -> T) -> Option<T> {
    (source.byte() % 2 == 1).then(|| make(source))
}

fn byte(source: &mut Source<'_>) -> u8 {
    source.byte()
}

fn text(source: &mut Source<'_>) -> String {
    source.text()
}

fn double(source: &mut Source<'_>) -> Option<Option<u8>> {
    option(source, |source| option(source, byte))
}

/// Generates a number of any size, with zeros at its end.
fn number(source: &mut Source<'_>) -> f64 {
    let number = f64::from_be_bytes(source.bytes());
    if number.is_finite() {
        number
    } else {
        f64::from(source.byte()) / 8.0
    }
}

impl Order {
    /// Generates an order of at most this depth.
    pub(crate) fn of(source: &mut Source<'_>, levels: u8) -> Self {
        Self {
            plain: option(source, byte),
            double: double(source),
            triple: option(source, double),
            skipped: double(source),
            reported: double(source),
            unit: option(source, |_| ()),
            text: option(source, text),
            numbers: Numbers(
                u64::from_be_bytes(source.bytes()) / 1_000 * 1_000,
                i128::from_be_bytes(source.bytes()),
                number(source),
            ),
            list: source.several(double),
            by_name: source
                .several(|source| (source.text(), double(source)))
                .into_iter()
                .collect(),
            by_number: source
                .several(|source| (i16::from_be_bytes(source.bytes()), option(source, byte)))
                .into_iter()
                .collect(),
            set: source
                .several(|source| option(source, byte))
                .into_iter()
                .collect(),
            loose: source
                .several(|source| (source.byte(), option(source, text)))
                .into_iter()
                .collect(),
            choice: match source.byte() % 4 {
                0 => Choice::Nothing,
                1 => Choice::One(double(source)),
                2 => Choice::Two(option(source, byte), source.byte()),
                _ => Choice::Fields {
                    a: double(source),
                    b: option(source, byte),
                },
            },
            tagged: option(source, |source| match source.byte() % 2 {
                0 => Tagged::Empty,
                _ => Tagged::Full {
                    a: option(source, byte),
                    b: double(source),
                },
            }),
            either: match source.byte() % 2 {
                0 => Either::A {
                    a: option(source, byte),
                },
                _ => Either::B {
                    b: option(source, byte),
                },
            },
            inner: match levels.checked_sub(1) {
                Some(levels) => source.several(|source| Self::of(source, levels)),
                None => Vec::new(),
            },
            flat: Flat {
                a: double(source),
                inner: option(source, |source| FlatInner {
                    b: option(source, byte),
                    c: double(source),
                }),
            },
        }
    }

    /// Returns the representative of all values that the documentation lists as the same.
    pub(crate) fn as_listed(&self) -> Self {
        // Inside arrays, maps and variants, `Some(None)` and `None` are both `null`.
        let null = |value: &Option<Option<u8>>| Some(value.flatten());
        let mut same = self.clone();
        same.triple = self.triple.map(Option::flatten).map(Some);
        same.list = self.list.iter().map(null).collect();
        for value in same.by_name.values_mut() {
            *value = null(value);
        }
        if let Choice::One(value) = &mut same.choice {
            *value = null(value);
        }
        if let Either::B { b: None } = same.either {
            same.either = Either::default();
        }
        // A map keeps its nulls.
        same.flat.a = null(&self.flat.a);
        same.inner = self.inner.iter().map(Self::as_listed).collect();
        same
    }

    /// Returns the same order with its maps and sets filled in reverse, and with other hashes.
    pub(crate) fn refilled(&self) -> Self {
        let mut names: Vec<_> = self.by_name.clone().into_iter().collect();
        let mut loose: Vec<_> = self.loose.clone().into_iter().collect();
        names.reverse();
        loose.reverse();
        Self {
            by_name: names.into_iter().collect(),
            loose: loose.into_iter().collect(),
            inner: self.inner.iter().map(Self::refilled).collect(),
            ..self.clone()
        }
    }
}
