//! Serializers of the arrays and objects of a typed value.

use serde::ser::{
    Error, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant,
};

use super::canonical::{Object, OpenMember, Writer};
use super::fault::Fault;
use super::name::Name;
use super::number::Decimal;
use super::text;

/// Serializes an array.
pub(super) struct List<'a> {
    writer: &'a mut Writer,
    start: usize,
    end: &'static [u8],
}

impl<'a> List<'a> {
    pub(super) fn open(writer: &'a mut Writer, end: &'static [u8]) -> Self {
        writer.out.push(b'[');
        let start = writer.out.len();
        Self { writer, start, end }
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        if self.writer.out.len() > self.start {
            self.writer.out.push(b',');
        }
        value.serialize(&mut *self.writer)
    }

    fn close(self) {
        self.writer.out.extend_from_slice(self.end);
    }
}

impl SerializeSeq for List<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        self.element(value)
    }

    fn end(self) -> Result<(), Fault> {
        self.close();
        Ok(())
    }
}

impl SerializeTuple for List<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        self.element(value)
    }

    fn end(self) -> Result<(), Fault> {
        self.close();
        Ok(())
    }
}

impl SerializeTupleStruct for List<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        self.element(value)
    }

    fn end(self) -> Result<(), Fault> {
        self.close();
        Ok(())
    }
}

impl SerializeTupleVariant for List<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        self.element(value)
    }

    fn end(self) -> Result<(), Fault> {
        self.close();
        Ok(())
    }
}

/// Serializes a map: an object that keeps its nulls.
pub(super) struct Map<'a> {
    writer: &'a mut Writer,
    object: Object,
    member: Option<OpenMember>,
}

impl<'a> Map<'a> {
    pub(super) fn open(writer: &'a mut Writer) -> Self {
        let object = writer.open();
        Self {
            writer,
            object,
            member: None,
        }
    }
}

impl SerializeMap for Map<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Fault> {
        let start = self.writer.names.len();
        key.serialize(Name(&mut self.writer.names))?;
        self.member = Some(self.writer.entry_named_from(&self.object, start));
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        let Some(member) = self.member.take() else {
            return Err(Fault::custom("a map has a value without a key"));
        };
        value.serialize(&mut *self.writer)?;
        self.writer.keep(&member);
        Ok(())
    }

    fn end(self) -> Result<(), Fault> {
        if self.member.is_some() {
            return Err(Fault::custom("a map has a key without a value"));
        }
        self.writer.close(&self.object)
    }
}

/// Serializes the fields of a struct or of a struct variant: an object that leaves out each `None`.
pub(super) struct Fields<'a> {
    writer: &'a mut Writer,
    object: Object,
    in_variant: bool,
}

impl<'a> Fields<'a> {
    pub(super) fn open(writer: &'a mut Writer, in_variant: bool) -> Self {
        let object = writer.open();
        Self {
            writer,
            object,
            in_variant,
        }
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Fault> {
        let member = self.writer.field(&self.object, name);
        value.serialize(&mut *self.writer)?;
        self.writer.keep_unless_none::<T>(&member);
        Ok(())
    }

    fn close(self) -> Result<(), Fault> {
        self.writer.close(&self.object)?;
        if self.in_variant {
            self.writer.out.push(b'}');
        }
        Ok(())
    }
}

impl SerializeStructVariant for Fields<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        self.field(name, value)
    }

    fn end(self) -> Result<(), Fault> {
        self.close()
    }
}

/// Serializes a struct, or a `serde_json` value that is passed as one.
pub(super) enum Struct<'a> {
    Plain(Fields<'a>),
    /// One field that holds the text of a number.
    Number(&'a mut Writer),
    /// One field that holds JSON text.
    Raw(&'a mut Writer),
}

impl SerializeStruct for Struct<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        match self {
            Self::Plain(fields) => fields.field(name, value),
            Self::Number(writer) => {
                let start = writer.names.len();
                value.serialize(Name(&mut writer.names))?;
                let text = &writer.names.as_bytes()[start..];
                match Decimal::scan(text) {
                    Some(decimal) if decimal.len() == text.len() => {
                        decimal.write(&mut writer.out)?;
                    }
                    _ => return Err(Fault::custom("a JSON number is spelled wrongly")),
                }
                writer.names.truncate(start);
                Ok(())
            }
            Self::Raw(writer) => {
                let mut json = String::new();
                value.serialize(Name(&mut json))?;
                text::write(writer, json.as_bytes())
            }
        }
    }

    fn end(self) -> Result<(), Fault> {
        match self {
            Self::Plain(fields) => fields.close(),
            Self::Number(_) | Self::Raw(_) => Ok(()),
        }
    }
}
