//! The findings of the checker.

use std::fmt;

/// A breach of a law.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Violation {
    /// The law's name.
    pub law: &'static str,
    /// Where it is broken.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.law, self.detail)
    }
}
