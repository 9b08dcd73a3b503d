//! Input that is not acceptable: which field, and which rule it breaks.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// Why a map has no canonical form.
pub(crate) const MAP_KEY: &str =
    "the key of a map must be text, an integer, a boolean, a character or a unit variant";

/// An input the library will not work with: which one, and which rule it breaks.
///
/// Nothing has been written when this is returned. The message names the limit, never the
/// text that broke it: a key or a request may hold personal data. At most one character of it is
/// quoted; [`reason`](Self::reason) may hold more.
///
/// ```
/// use idem_runtime::key::IdempotencyKey;
///
/// let refused = "k".repeat(300).parse::<IdempotencyKey>().unwrap_err();
/// assert_eq!(refused.to_string(), "key is 300 characters long; the limit is 255");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} {reason}")]
pub struct Invalid {
    field: Field,
    reason: Reason,
}

impl Invalid {
    /// Refuses `field` for `reason`.
    pub fn new(field: Field, reason: Reason) -> Self {
        Self { field, reason }
    }

    /// The input at fault.
    pub fn field(&self) -> &Field {
        &self.field
    }

    /// The rule it breaks.
    pub fn reason(&self) -> &Reason {
        &self.reason
    }
}

/// The input that an [`Invalid`] is about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// The key space of a consumer.
    Namespace,
    /// The tenant or principal inside a namespace.
    Scope,
    /// The caller's token.
    Key,
    /// The stable name of a handler.
    Operation,
    /// The name of the table that holds the records.
    Table,
    /// A part of a derived key, counted from 0; for an empty list of parts, part 0.
    KeyPart(usize),
    /// The label of a child key.
    ChildLabel,
    /// How long a record is kept.
    Retention,
    /// For how long an attempt owns its key.
    Lease,
    /// A compared parameter of a handler, by name.
    Parameter(Cow<'static, str>),
    /// The request as a whole.
    Request,
    /// A header of an HTTP request, by name.
    Header(&'static str),
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace => f.write_str("namespace"),
            Self::Scope => f.write_str("scope"),
            Self::Key => f.write_str("key"),
            Self::Operation => f.write_str("operation"),
            Self::Table => f.write_str("table"),
            Self::KeyPart(index) => write!(f, "key part {index}"),
            Self::ChildLabel => f.write_str("child label"),
            Self::Retention => f.write_str("retention"),
            Self::Lease => f.write_str("lease"),
            Self::Parameter(name) => write!(f, "parameter `{name}`"),
            Self::Request => f.write_str("request"),
            Self::Header(name) => write!(f, "header `{name}`"),
        }
    }
}

/// The rule that an [`Invalid`] input breaks.
///
/// `Display` and `Debug` leave out what [`Number`](Self::Number), [`Duplicate`](Self::Duplicate) and
/// [`Serialize`](Self::Serialize) hold.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Nothing in it, or only white space.
    Empty,
    /// Longer than the limit; both in characters.
    TooLong {
        /// The most that is allowed.
        limit: usize,
        /// What was given.
        length: usize,
    },
    /// A character outside the allowed set.
    Character {
        /// The first character at fault.
        found: char,
        /// Its place, in characters from 0.
        index: usize,
        /// The allowed set, in words.
        allowed: &'static str,
    },
    /// A control character: U+0000 to U+001F, or U+007F to U+009F.
    Control {
        /// The first character at fault.
        found: char,
        /// Its place, in characters from 0.
        index: usize,
    },
    /// A number whose exponent no longer fits 64 bits, by the beginning of its text.
    Number(String),
    /// A floating-point number that is infinite or not a number.
    NotFinite,
    /// Two members of one JSON object have this name.
    Duplicate(String),
    /// JSON arrays and objects nested deeper than the limit.
    TooDeep {
        /// The deepest nesting allowed.
        limit: usize,
    },
    /// Text that is not JSON by RFC 8259.
    NotJson {
        /// Where reading stopped, in bytes from 0.
        offset: usize,
        /// What is wrong there.
        fault: &'static str,
    },
    /// A time above its limit.
    TooLongTime {
        /// The longest that is allowed.
        limit: Duration,
        /// What was given.
        found: Duration,
    },
    /// A time below its limit.
    TooShortTime {
        /// The shortest that is allowed.
        limit: Duration,
        /// What was given.
        found: Duration,
    },
    /// Given more than once, and not always the same.
    Repeated,
    /// Another value than that of the other header that says the same.
    Differs {
        /// The other header.
        other: &'static str,
    },
    /// Not a String of RFC 8941, section 3.3.3.
    NotString,
    /// Not `[schema.]name`, each `[a-z_][a-z0-9_]*` of at most 63 bytes, the name itself of at most 61.
    Identifier,
    /// The value could not be serialized; the message is the serializer's.
    Serialize(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty"),
            Self::TooLong { limit, length } => {
                write!(f, "is {length} characters long; the limit is {limit}")
            }
            Self::Character {
                found,
                index,
                allowed,
            } => write!(
                f,
                "has {found:?} at character {index}; allowed are {allowed}"
            ),
            Self::Control { found, index } => write!(
                f,
                "has the control character U+{:04X} at character {index}",
                u32::from(*found)
            ),
            Self::Number(_) => f.write_str("has a number whose exponent does not fit 64 bits"),
            Self::NotFinite => f.write_str("has a number that is infinite or not a number"),
            Self::Duplicate(_) => f.write_str("has two members of one name in one object"),
            Self::TooDeep { limit } => {
                write!(f, "is nested too deeply; the limit is {limit} levels")
            }
            Self::NotJson { offset, fault } => {
                write!(f, "is not JSON at byte {offset}: {fault}")
            }
            Self::Repeated => f.write_str(
                "is given more than once; one value is allowed (one with a comma in it stands in double quotes)",
            ),
            Self::Differs { other } => write!(
                f,
                "differs from header `{other}`: send one of them, or one value in both"
            ),
            Self::TooLongTime { limit, found } => {
                write!(f, "is {found:?} long; the limit is {limit:?}")
            }
            Self::TooShortTime { limit, found } => {
                write!(f, "is {found:?} long; the least is {limit:?}")
            }
            Self::NotString => f.write_str(
                "is not a string by RFC 8941, section 3.3.3: visible ASCII in double quotes",
            ),
            Self::Identifier => {
                f.write_str("is not [schema.]name, each [a-z_][a-z0-9_]* of at most 63 bytes, the name itself of at most 61: a database cuts the names of its indexes at 63, and they would be one")
            }
            Self::Serialize(message) if message == MAP_KEY => {
                write!(f, "cannot be serialized: {message}")
            }
            Self::Serialize(_) => f.write_str("cannot be serialized: its own `Serialize` fails"),
        }
    }
}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reason({self})")
    }
}
