//! The error for unacceptable input.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use super::Error;

/// The message for a map that has no canonical form.
pub(crate) const MAP_KEY: &str =
    "the key of a map must be text, an integer, a boolean, a character or a unit variant";

/// Input that the library does not accept. It names the field, and the rule that the field breaks.
///
/// Nothing has been written when it is returned. The message names the limit, but does not quote the
/// text, because a key or a request may hold personal data. It quotes one character at most;
/// [`reason`](Self::reason) may hold more.
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
    /// Creates the error of `field` for `reason`.
    pub fn new(field: Field, reason: Reason) -> Self {
        Self { field, reason }
    }

    /// Returns the error of a `field` that is computed and could not be: `error` is in its place.
    pub(crate) fn of(error: &Error, field: Field) -> Self {
        match error {
            Error::Invalid(invalid) => invalid.clone(),
            other => Self::new(field, Reason::NotComputed(other.name())),
        }
    }

    /// Returns the field that breaks the rule.
    pub fn field(&self) -> &Field {
        &self.field
    }

    /// Returns the rule that the field breaks.
    pub fn reason(&self) -> &Reason {
        &self.reason
    }
}

/// The field that an [`Invalid`] is about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// The key space of a consumer.
    Namespace,
    /// The tenant or principal inside a namespace.
    Scope,
    /// The key that the caller sent.
    Key,
    /// The stable name of a handler.
    Operation,
    /// The name of the table that holds the records.
    Table,
    /// A part of a derived key, counted from 0; part 0 if the list of parts is empty.
    KeyPart(usize),
    /// The label of a child key.
    ChildLabel,
    /// How long a record is kept.
    Retention,
    /// The name of who archives.
    Actor,
    /// How long an attempt owns its key.
    Lease,
    /// A compared parameter of a handler, by its name.
    Parameter(Cow<'static, str>),
    /// The request as a whole.
    Request,
    /// A header of an HTTP request, by its name.
    Header(&'static str),
    /// A member of the `_meta` of a call, by its name.
    Member(Cow<'static, str>),
    /// The metadata of a call that is no HTTP request, by its name.
    Metadata(Cow<'static, str>),
    /// A key that payloads are encrypted under, or names hashed with.
    CodecKey,
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
            Self::Actor => f.write_str("name of who archives"),
            Self::Lease => f.write_str("lease"),
            Self::Parameter(name) => write!(f, "parameter `{name}`"),
            Self::Request => f.write_str("request"),
            Self::Header(name) => write!(f, "header `{name}`"),
            Self::Member(name) => write!(f, "member `_meta[{name:?}]`"),
            Self::Metadata(name) => write!(f, "metadata `{name}`"),
            Self::CodecKey => f.write_str("codec key"),
        }
    }
}

/// The rule that an [`Invalid`] input breaks.
///
/// `Display` and `Debug` do not print the contents of [`Number`](Self::Number),
/// [`Duplicate`](Self::Duplicate) and [`Serialize`](Self::Serialize).
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Empty, or only white space.
    Empty,
    /// Longer than the limit, in characters.
    TooLong {
        /// The limit.
        limit: usize,
        /// The length of the input.
        length: usize,
    },
    /// A character outside the allowed set.
    Character {
        /// The first such character.
        found: char,
        /// Its position, in characters from 0.
        index: usize,
        /// The allowed set, in words.
        allowed: &'static str,
    },
    /// A control character: U+0000 to U+001F, or U+007F to U+009F.
    Control {
        /// The first such character.
        found: char,
        /// Its position, in characters from 0.
        index: usize,
    },
    /// A number whose exponent does not fit 64 bits. Holds the beginning of its text.
    Number(String),
    /// A floating-point number that is infinite or not a number.
    NotFinite,
    /// Two members of one JSON object with the same name. Holds the name.
    Duplicate(String),
    /// JSON arrays and objects nested deeper than the limit.
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// Text that is not JSON (RFC 8259).
    NotJson {
        /// Where parsing stopped, in bytes from 0.
        offset: usize,
        /// The syntax error.
        fault: &'static str,
    },
    /// A time above its limit.
    TooLongTime {
        /// The limit.
        limit: Duration,
        /// The given time.
        found: Duration,
    },
    /// A time below its limit.
    TooShortTime {
        /// The limit.
        limit: Duration,
        /// The given time.
        found: Duration,
    },
    /// Given more than once, with different values.
    Repeated,
    /// In a request that makes several calls, and meant for one.
    ManyCalls,
    /// Not text.
    NotText,
    /// Not a JSON object.
    NotObject,
    /// A value that differs from that of another header with the same meaning.
    Differs {
        /// The other header.
        other: &'static str,
    },
    /// Present, and not read where another name is meant.
    NotRead {
        /// The name that is read.
        instead: Cow<'static, str>,
    },
    /// Present, and not read where the key is made of the rest of the request.
    KeyInRequest,
    /// Not a String of RFC 8941, section 3.3.3.
    NotString,
    /// Not `[schema.]name`, each `[a-z_][a-z0-9_]*` of at most 63 bytes, the name itself of at most 61.
    Identifier,
    /// The expression that computes it returned another error of the library. Holds the name of its variant.
    NotComputed(&'static str),
    /// Not this many hexadecimal digits.
    NotHex {
        /// The number of digits.
        digits: usize,
    },
    /// The value could not be serialized. Holds the serializer's message.
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
            Self::Duplicate(_) => f.write_str("has two members of the same name in one object"),
            Self::TooDeep { limit } => {
                write!(f, "is nested too deeply; the limit is {limit} levels")
            }
            Self::NotJson { offset, fault } => {
                write!(f, "is not JSON at byte {offset}: {fault}")
            }
            Self::Repeated => f.write_str(
                "is given more than once; send one value, in double quotes if it contains a comma",
            ),
            Self::Differs { other } => write!(
                f,
                "differs from header `{other}`: send one of the two, or the same value in both"
            ),
            Self::ManyCalls => f.write_str(
                "is for a single call: give each call of a batch or of a socket a key of its own, in its `params._meta`",
            ),
            Self::NotText => f.write_str("is not a string"),
            Self::NotObject => f.write_str("is not an object"),
            Self::TooLongTime { limit, found } => {
                write!(f, "is {found:?} long; the limit is {limit:?}")
            }
            Self::TooShortTime { limit, found } => {
                write!(f, "is {found:?} long; the minimum is {limit:?}")
            }
            Self::NotRead { instead } => write!(f, "is not read: send `{instead}` instead"),
            Self::KeyInRequest => {
                f.write_str("is not read: the key is made of the rest of the request, so leave it out")
            }
            Self::NotString => f.write_str(
                "is not a string by RFC 8941, section 3.3.3: visible ASCII in double quotes",
            ),
            Self::Identifier => {
                f.write_str("is not [schema.]name, each [a-z_][a-z0-9_]* of at most 63 bytes, and the name of at most 61: databases cut the names of its indexes at 63 bytes, and they must still differ")
            }
            Self::NotComputed(error) => write!(f, "could not be computed: `Error::{error}`"),
            Self::NotHex { digits } => write!(f, "is not {digits} hexadecimal digits"),
            Self::Serialize(message) if message == MAP_KEY => {
                write!(f, "cannot be serialized: {message}")
            }
            Self::Serialize(_) => f.write_str("cannot be serialized: its `Serialize` implementation fails"),
        }
    }
}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reason({self})")
    }
}
