//! The serializer of member names, which converts map keys to text.

use std::fmt::{Display, Write};

use serde::ser::{Error, Impossible, Serialize, Serializer};

use super::fault::Fault;
use crate::values::error::MAP_KEY;

/// Appends the name of a member to the `String`: the text that a map key becomes in JSON.
///
/// Also extracts the text from the structs by which `serde_json` passes numbers and raw JSON.
pub(super) struct Name<'a>(pub(super) &'a mut String);

fn not_text<T>() -> Result<T, Fault> {
    Err(Fault::custom(MAP_KEY))
}

impl Name<'_> {
    fn show(self, key: impl Display) -> Result<(), Fault> {
        write!(self.0, "{key}").map_err(Fault::custom)
    }
}

impl Serializer for Name<'_> {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = Impossible<(), Fault>;
    type SerializeTuple = Impossible<(), Fault>;
    type SerializeTupleStruct = Impossible<(), Fault>;
    type SerializeTupleVariant = Impossible<(), Fault>;
    type SerializeMap = Impossible<(), Fault>;
    type SerializeStruct = Impossible<(), Fault>;
    type SerializeStructVariant = Impossible<(), Fault>;

    fn serialize_str(self, key: &str) -> Result<(), Fault> {
        self.0.push_str(key);
        Ok(())
    }

    fn serialize_char(self, key: char) -> Result<(), Fault> {
        self.0.push(key);
        Ok(())
    }

    fn collect_str<T: Display + ?Sized>(self, key: &T) -> Result<(), Fault> {
        self.show(key)
    }

    fn serialize_bool(self, key: bool) -> Result<(), Fault> {
        self.show(key)
    }

    fn serialize_i8(self, key: i8) -> Result<(), Fault> {
        self.show(key)
    }

    fn serialize_i16(self, key: i16) -> Result<(), Fault> {
        self.show(key)
    }

    fn serialize_i32(self, key: i32) -> Result<(), Fault> {
        self.show(key)
    }

    fn serialize_i64(self, key: i64) -> Result<(), Fault> {
        self.show(key)
    }

    fn serialize_i128(self, key: i128) -> Result<(), Fault> {
        self.show(key)
    }

    fn serialize_u8(self, key: u8) -> Result<(), Fault> {
        self.show(key)
    }

    fn serialize_u16(self, key: u16) -> Result<(), Fault> {
        self.show(key)
    }

    fn serialize_u32(self, key: u32) -> Result<(), Fault> {
        self.show(key)
    }

    fn serialize_u64(self, key: u64) -> Result<(), Fault> {
        self.show(key)
    }

    fn serialize_u128(self, key: u128) -> Result<(), Fault> {
        self.show(key)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), Fault> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        key: &T,
    ) -> Result<(), Fault> {
        key.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, key: &T) -> Result<(), Fault> {
        key.serialize(self)
    }

    fn serialize_f32(self, _key: f32) -> Result<(), Fault> {
        not_text()
    }

    fn serialize_f64(self, _key: f64) -> Result<(), Fault> {
        not_text()
    }

    fn serialize_bytes(self, _key: &[u8]) -> Result<(), Fault> {
        not_text()
    }

    fn serialize_none(self) -> Result<(), Fault> {
        not_text()
    }

    fn serialize_unit(self) -> Result<(), Fault> {
        not_text()
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Fault> {
        not_text()
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _key: &T,
    ) -> Result<(), Fault> {
        not_text()
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Self::SerializeSeq, Fault> {
        not_text()
    }

    fn serialize_tuple(self, _len: usize) -> Result<Self::SerializeTuple, Fault> {
        not_text()
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeTupleStruct, Fault> {
        not_text()
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeTupleVariant, Fault> {
        not_text()
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Self::SerializeMap, Fault> {
        not_text()
    }

    fn serialize_struct(
        self,
        _name: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeStruct, Fault> {
        not_text()
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeStructVariant, Fault> {
        not_text()
    }
}
