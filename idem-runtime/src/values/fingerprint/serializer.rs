//! The `Serializer` of canonical JSON.

use std::fmt::{Display, Write};

use serde::ser::{Error, Serialize, Serializer};

use super::canonical::Writer;
use super::compound::{Fields, List, Map, Struct};
use super::fault::Fault;
use super::number;

/// The struct names by which `serde_json` passes its own types to a serializer if its features
/// `arbitrary_precision` and `raw_value` are enabled.
const NUMBER: &str = "$serde_json::private::Number";
const RAW_VALUE: &str = "$serde_json::private::RawValue";

impl Writer {
    fn null(&mut self) {
        self.out.extend_from_slice(b"null");
    }

    /// Writes `{"variant":`. The caller writes the value and the closing `}`.
    fn variant(&mut self, variant: &str) {
        self.out.push(b'{');
        self.string(variant);
        self.out.push(b':');
    }
}

impl<'a> Serializer for &'a mut Writer {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = List<'a>;
    type SerializeTuple = List<'a>;
    type SerializeTupleStruct = List<'a>;
    type SerializeTupleVariant = List<'a>;
    type SerializeMap = Map<'a>;
    type SerializeStruct = Struct<'a>;
    type SerializeStructVariant = Fields<'a>;

    fn serialize_bool(self, value: bool) -> Result<(), Fault> {
        let text: &[u8] = if value { b"true" } else { b"false" };
        self.out.extend_from_slice(text);
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), Fault> {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result<(), Fault> {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<(), Fault> {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result<(), Fault> {
        number::signed(&mut self.out, value);
        Ok(())
    }

    fn serialize_i128(self, value: i128) -> Result<(), Fault> {
        number::wide(&mut self.out, value < 0, value.unsigned_abs());
        Ok(())
    }

    fn serialize_u8(self, value: u8) -> Result<(), Fault> {
        self.serialize_u64(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result<(), Fault> {
        self.serialize_u64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<(), Fault> {
        self.serialize_u64(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result<(), Fault> {
        number::unsigned(&mut self.out, value);
        Ok(())
    }

    fn serialize_u128(self, value: u128) -> Result<(), Fault> {
        number::wide(&mut self.out, false, value);
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), Fault> {
        number::float(&mut self.out, value, value.is_finite())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Fault> {
        number::float(&mut self.out, value, value.is_finite())
    }

    fn serialize_char(self, value: char) -> Result<(), Fault> {
        self.string(value.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_str(self, value: &str) -> Result<(), Fault> {
        self.string(value);
        Ok(())
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), Fault> {
        let start = self.names.len();
        write!(self.names, "{value}").map_err(Fault::custom)?;
        self.string_from_names(start);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Fault> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), Fault> {
        self.null();
        self.none = true;
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Fault> {
        value.serialize(&mut *self)?;
        self.none = false;
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), Fault> {
        self.null();
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Fault> {
        self.null();
        Ok(())
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), Fault> {
        self.string(variant);
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        self.variant(variant);
        value.serialize(&mut *self)?;
        self.out.push(b'}');
        Ok(())
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<List<'a>, Fault> {
        Ok(List::open(self, b"]"))
    }

    fn serialize_tuple(self, _len: usize) -> Result<List<'a>, Fault> {
        Ok(List::open(self, b"]"))
    }

    fn serialize_tuple_struct(self, _name: &'static str, _len: usize) -> Result<List<'a>, Fault> {
        Ok(List::open(self, b"]"))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<List<'a>, Fault> {
        self.variant(variant);
        Ok(List::open(self, b"]}"))
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Map<'a>, Fault> {
        Ok(Map::open(self))
    }

    fn serialize_struct(self, name: &'static str, _len: usize) -> Result<Struct<'a>, Fault> {
        Ok(match name {
            NUMBER => Struct::Number(self),
            RAW_VALUE => Struct::Raw(self),
            _ => Struct::Plain(Fields::open(self, false)),
        })
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Fields<'a>, Fault> {
        self.variant(variant);
        Ok(Fields::open(self, true))
    }
}
