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
            Some(reason) => Err(Invalid::new(Field::Namespace, reason)),
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
        let bytes = name.as_bytes();
        assert!(!bytes.is_empty(), "a namespace cannot be empty");
        assert!(
            bytes.len() <= NAMESPACE_MAX,
            "a namespace has at most 64 characters"
        );
        let mut at = 0;
        while at < bytes.len() {
            assert!(
                is_allowed(bytes[at]),
                "a namespace is made of a-z, 0-9, - and _"
            );
            at += 1;
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

const fn is_allowed(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_')
}

fn fault(name: &str) -> Option<Reason> {
    if name.is_empty() {
        return Some(Reason::Empty);
    }
    let odd = name
        .chars()
        .enumerate()
        .find(|&(_, c)| !u8::try_from(c).is_ok_and(is_allowed));
    if let Some((index, found)) = odd {
        let allowed = ALLOWED;
        return Some(Reason::Character {
            found,
            index,
            allowed,
        });
    }
    let (limit, length) = (NAMESPACE_MAX, name.len());
    (length > limit).then_some(Reason::TooLong { limit, length })
}
