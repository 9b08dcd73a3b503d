//! What a checker finds.

use std::fmt;

/// A law's breach.
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
