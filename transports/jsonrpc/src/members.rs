//! The members of a JSON object, in their order and as they are written.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap as _, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Names and values.
#[derive(Debug, Default)]
pub(crate) struct Members<'j>(pub(crate) Vec<(Cow<'j, str>, Cow<'j, RawValue>)>);

impl<'j> Members<'j> {
    /// Reads an object; `None` if the text is another value.
    pub(crate) fn of(text: &'j str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Returns whether two members have this name.
    pub(crate) fn repeats(&self, name: &str) -> bool {
        self.0.iter().filter(|(known, _)| known == name).count() > 1
    }

    /// Returns whether two members have the same name.
    pub(crate) fn has_repeated(&self) -> bool {
        let names: BTreeSet<&str> = self.0.iter().map(|(name, _)| &**name).collect();
        names.len() < self.0.len()
    }

    /// Takes the first member of this name out.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Cow<'j, RawValue>> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.remove(at).1)
    }

    /// Returns the object as text.
    pub(crate) fn to_raw(&self) -> Result<Box<RawValue>, serde_json::Error> {
        serde_json::value::to_raw_value(self)
    }
}

#[derive(Deserialize)]
struct Name<'j>(#[serde(borrow)] Cow<'j, str>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(Name(name)) = map.next_key()? {
                    members.push((name, Cow::Borrowed(map.next_value()?)));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_taken_out_is_as_it_was_written() {
        let text = r#"{"b":1.50,"_meta":{"x":1},"a\u0062":[ 1,2],"b":"\u00e9"}"#;
        let mut members = Members::of(text).expect("an object");
        assert!(members.repeats("b") && !members.repeats("ab") && members.has_repeated());
        let meta = members.remove("_meta").expect("it is there");
        assert_eq!(meta.get(), r#"{"x":1}"#);
        assert_eq!(
            members.to_raw().expect("JSON").get(),
            r#"{"b":1.50,"ab":[ 1,2],"b":"\u00e9"}"#
        );
    }

    #[test]
    fn other_values_are_no_objects() {
        for text in ["[1]", "null", "\"{}\"", "7", "{", ""] {
            assert!(Members::of(text).is_none(), "{text}");
        }
    }
}
