//! A typed value of any shape in serde's data model, generated from bytes.

use serde::ser::{
    Serialize, SerializeMap as _, SerializeSeq as _, SerializeStruct as _,
    SerializeStructVariant as _, SerializeTuple as _, SerializeTupleStruct as _,
    SerializeTupleVariant as _, Serializer,
};
use serde_json::value::RawValue;

/// The names of fields and variants. serde requires constants.
const NAMES: [&str; 8] = [
    "a",
    "b",
    "aa",
    "",
    "\u{e9}",
    "\u{ffff}",
    "\u{1f600}",
    "\"\\\n",
];

#[derive(Debug)]
pub(crate) enum Node {
    Unit,
    None,
    Some(Box<Self>),
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    WideSigned(i128),
    WideUnsigned(u128),
    Single(f32),
    Double(f64),
    Char(char),
    Text(String),
    /// Text that is serialized by its `Display`.
    Shown(String),
    Bytes(Vec<u8>),
    UnitStruct,
    UnitVariant(&'static str),
    NewtypeStruct(Box<Self>),
    NewtypeVariant(&'static str, Box<Self>),
    Sequence(Vec<Self>),
    Tuple(Vec<Self>),
    TupleStruct(Vec<Self>),
    TupleVariant(&'static str, Vec<Self>),
    Map(Vec<(Self, Self)>),
    Struct(Vec<(&'static str, Self)>),
    StructVariant(&'static str, Vec<(&'static str, Self)>),
    Raw(Box<RawValue>),
}

impl Node {
    /// Returns the field as an `Option` if its node is one: a struct's field is recognised by its
    /// type.
    #[expect(
        clippy::option_option,
        reason = "an option in the node, or none at all"
    )]
    pub(crate) fn option(&self) -> Option<Option<&Self>> {
        match self {
            Self::None => Some(None),
            Self::Some(node) => Some(Some(node)),
            _ => None,
        }
    }
}

/// The bytes from which values are generated; zeros once they are used up.
pub(crate) struct Source<'a>(pub(crate) &'a [u8]);

impl Source<'_> {
    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    pub(crate) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        [(); N].map(|()| self.byte())
    }

    pub(crate) fn text(&mut self) -> String {
        let length = usize::from(self.byte() % 32).min(self.0.len());
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8_lossy(text).into_owned()
    }

    fn name(&mut self) -> &'static str {
        NAMES[usize::from(self.byte()) % NAMES.len()]
    }

    fn boxed(&mut self, levels: u8) -> Box<Node> {
        Box::new(self.node(levels))
    }

    pub(crate) fn several<T>(&mut self, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.byte() % 5).map(|_| make(self)).collect()
    }

    fn nodes(&mut self, levels: u8) -> Vec<Node> {
        self.several(|source| source.node(levels))
    }

    fn fields(&mut self, levels: u8) -> Vec<(&'static str, Node)> {
        self.several(|source| (source.name(), source.node(levels)))
    }

    /// Generates a value of at most this depth.
    pub(crate) fn node(&mut self, levels: u8) -> Node {
        let kinds = if levels == 0 { 16 } else { 26 };
        let below = levels.saturating_sub(1);
        match self.byte() % kinds {
            0 => Node::Unit,
            1 => Node::None,
            2 => Node::Bool(self.byte() % 2 == 1),
            3 => Node::Signed(i64::from_be_bytes(self.bytes())),
            4 => Node::Unsigned(u64::from_be_bytes(self.bytes())),
            5 => Node::WideSigned(i128::from_be_bytes(self.bytes())),
            6 => Node::WideUnsigned(u128::from_be_bytes(self.bytes())),
            7 => Node::Single(f32::from_be_bytes(self.bytes())),
            8 => Node::Double(f64::from_be_bytes(self.bytes())),
            9 => Node::Char(char::from_u32(u32::from_be_bytes(self.bytes()) >> 8).unwrap_or('x')),
            10 => Node::Text(self.text()),
            11 => Node::Shown(self.text()),
            12 => Node::Bytes(self.text().into_bytes()),
            13 => Node::UnitStruct,
            14 => Node::UnitVariant(self.name()),
            15 => RawValue::from_string(self.text()).map_or(Node::Unit, Node::Raw),
            16 => Node::Some(self.boxed(below)),
            17 => Node::NewtypeStruct(self.boxed(below)),
            18 => Node::NewtypeVariant(self.name(), self.boxed(below)),
            19 => Node::Sequence(self.nodes(below)),
            20 => Node::Tuple(self.nodes(below)),
            21 => Node::TupleStruct(self.nodes(below)),
            22 => Node::TupleVariant(self.name(), self.nodes(below)),
            23 => Node::Map(self.several(|source| (source.node(1), source.node(below)))),
            24 => Node::Struct(self.fields(below)),
            _ => Node::StructVariant(self.name(), self.fields(below)),
        }
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unit => serializer.serialize_unit(),
            Self::None => serializer.serialize_none(),
            Self::Some(node) => serializer.serialize_some(node),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Signed(value) => serializer.serialize_i64(*value),
            Self::Unsigned(value) => serializer.serialize_u64(*value),
            Self::WideSigned(value) => serializer.serialize_i128(*value),
            Self::WideUnsigned(value) => serializer.serialize_u128(*value),
            Self::Single(value) => serializer.serialize_f32(*value),
            Self::Double(value) => serializer.serialize_f64(*value),
            Self::Char(value) => serializer.serialize_char(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Shown(text) => serializer.collect_str(text),
            Self::Bytes(bytes) => serializer.serialize_bytes(bytes),
            Self::UnitStruct => serializer.serialize_unit_struct("Unit"),
            Self::UnitVariant(name) => serializer.serialize_unit_variant("Enum", 0, name),
            Self::NewtypeStruct(node) => serializer.serialize_newtype_struct("Newtype", node),
            Self::NewtypeVariant(name, node) => {
                serializer.serialize_newtype_variant("Enum", 0, name, node)
            }
            Self::Sequence(nodes) => {
                // A sequence of unknown length, like an iterator's.
                let mut list = serializer.serialize_seq(None)?;
                for node in nodes {
                    list.serialize_element(node)?;
                }
                list.end()
            }
            Self::Tuple(nodes) => {
                let mut list = serializer.serialize_tuple(nodes.len())?;
                for node in nodes {
                    list.serialize_element(node)?;
                }
                list.end()
            }
            Self::TupleStruct(nodes) => {
                let mut list = serializer.serialize_tuple_struct("Tuple", nodes.len())?;
                for node in nodes {
                    list.serialize_field(node)?;
                }
                list.end()
            }
            Self::TupleVariant(name, nodes) => {
                let mut list = serializer.serialize_tuple_variant("Enum", 0, name, nodes.len())?;
                for node in nodes {
                    list.serialize_field(node)?;
                }
                list.end()
            }
            Self::Map(entries) => {
                let mut map = serializer.serialize_map(None)?;
                for (key, value) in entries {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
            Self::Struct(fields) => {
                let mut object = serializer.serialize_struct("Plain", fields.len())?;
                for (name, node) in fields {
                    match node.option() {
                        Some(option) => object.serialize_field(name, &option)?,
                        None => object.serialize_field(name, node)?,
                    }
                }
                object.end()
            }
            Self::StructVariant(name, fields) => {
                let count = fields.len();
                let mut object = serializer.serialize_struct_variant("Enum", 0, name, count)?;
                for (name, node) in fields {
                    match node.option() {
                        Some(option) => object.serialize_field(name, &option)?,
                        None => object.serialize_field(name, node)?,
                    }
                }
                object.end()
            }
            Self::Raw(text) => text.serialize(serializer),
        }
    }
}
