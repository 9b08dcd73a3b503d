//! The key space of one consumer.

use std::borrow::Cow;
use std::fmt;

use super::limits::NAMESPACE_MAX;
use crate::values::error::{Field, Invalid, Reason};

const ALLOWED: &str = "a-z, 0-9, - and _";

/// The key space of one consumer: 1 to 64 characters of `a-z 0-9 - _`.
///
/// Equal keys in two namespaces are different keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Namespace(Cow<'static, str>);

impl Namespace {
    /// Checks a namespace at run time.
    ///
    /// # Errors
    ///
    /// [`Invalid`] of [`Field::Namespace`] if the name is empty, is longer than [`NAMESPACE_MAX`]
    /// characters, or contains a character other than `a-z 0-9 - _`.
    pub fn new(name: impl Into<String>) -> Result<Self, Invalid> {
        let name = name.into();
        match fault(&name) {
            Some(fault) => Err(Invalid::new(Field::Namespace, reason(&fault, &name))),
            None => Ok(Self(Cow::Owned(name))),
        }
    }

    /// Creates a namespace from a literal; usable in constants.
    ///
    /// ```
    /// use idem_runtime::key::Namespace;
    ///
    /// const PAYMENTS: Namespace = Namespace::from_static("payments");
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if [`Namespace::new`] would refuse the literal. In a constant this is a compile
    /// error.
    ///
    /// ```compile_fail,E0080
    /// use idem_runtime::key::Namespace;
    ///
    /// const PAYMENTS: Namespace = Namespace::from_static("Payments");
    /// ```
    pub const fn from_static(name: &'static str) -> Self {
        match fault(name) {
            None => {}
            Some(Fault::Empty) => panic!("a namespace cannot be empty"),
            Some(Fault::Character(_)) => panic!("a namespace is made of a-z, 0-9, - and _"),
            Some(Fault::TooLong) => panic!("a namespace has at most 64 characters"),
        }
        Self(Cow::Borrowed(name))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The rule that a text breaks.
enum Fault {
    Empty,
    /// The first character that is not allowed, by its position.
    Character(usize),
    TooLong,
}

/// Returns whether a text is a namespace.
pub(crate) const fn is_namespace(text: &str) -> bool {
    fault(text).is_none()
}

/// Returns the first rule that a text breaks. The characters before a position are allowed ones, so it counts
/// bytes and characters alike.
const fn fault(text: &str) -> Option<Fault> {
    let bytes = text.as_bytes();
    if bytes.is_empty() {
        return Some(Fault::Empty);
    }
    let mut at = 0;
    while at < bytes.len() {
        if !matches!(bytes[at], b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_') {
            return Some(Fault::Character(at));
        }
        at += 1;
    }
    if bytes.len() > NAMESPACE_MAX {
        return Some(Fault::TooLong);
    }
    None
}

fn reason(fault: &Fault, name: &str) -> Reason {
    match *fault {
        Fault::Empty => Reason::Empty,
        Fault::Character(index) => Reason::Character {
            found: name[index..].chars().next().unwrap_or_default(),
            index,
            allowed: ALLOWED,
        },
        Fault::TooLong => Reason::TooLong {
            limit: NAMESPACE_MAX,
            length: name.len(),
        },
    }
}
