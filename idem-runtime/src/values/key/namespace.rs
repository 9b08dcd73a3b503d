//! The key space of one consumer.

use std::borrow::Cow;
use std::fmt;

use super::limits::NAMESPACE_MAX;
use crate::values::error::{Error, Field, Invalid, Reason};

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
    /// [`Error::Invalid`] of [`Field::Namespace`] if the name is empty, is longer than [`NAMESPACE_MAX`]
    /// characters, or contains a character other than `a-z 0-9 - _`.
    pub fn new(name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        match broken_rule(&name) {
            Some(broken) => Err(Invalid::new(Field::Namespace, reason(&broken, &name)).into()),
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
        match broken_rule(name) {
            None => {}
            Some(BrokenRule::Empty) => panic!("a namespace cannot be empty"),
            Some(BrokenRule::Character(_)) => panic!("a namespace is made of a-z, 0-9, - and _"),
            Some(BrokenRule::TooLong) => panic!("a namespace has at most 64 characters"),
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

/// The rule of a namespace that a text breaks.
enum BrokenRule {
    Empty,
    /// The first character that is not allowed, by its position.
    Character(usize),
    TooLong,
}

/// Returns whether a text is a namespace.
pub(crate) const fn is_namespace(text: &str) -> bool {
    broken_rule(text).is_none()
}

/// Returns the first rule that a text breaks. The characters before a position are allowed ones, so it counts
/// bytes and characters alike.
const fn broken_rule(text: &str) -> Option<BrokenRule> {
    let bytes = text.as_bytes();
    if bytes.is_empty() {
        return Some(BrokenRule::Empty);
    }
    let mut at = 0;
    while at < bytes.len() {
        if !matches!(bytes[at], b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_') {
            return Some(BrokenRule::Character(at));
        }
        at += 1;
    }
    if bytes.len() > NAMESPACE_MAX {
        return Some(BrokenRule::TooLong);
    }
    None
}

fn reason(broken: &BrokenRule, name: &str) -> Reason {
    match *broken {
        BrokenRule::Empty => Reason::Empty,
        BrokenRule::Character(index) => Reason::Character {
            found: name[index..].chars().next().unwrap_or_default(),
            index,
            allowed: ALLOWED,
        },
        BrokenRule::TooLong => Reason::TooLong {
            limit: NAMESPACE_MAX,
            length: name.len(),
        },
    }
}
