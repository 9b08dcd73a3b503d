//! What an examination of a database finds.

use std::collections::BTreeMap;
use std::fmt;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// Calls fail, or a guarantee does not hold.
    Fault,
    /// Something becomes a fault, or secrets may leak.
    Warning,
    /// Something to know.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Fault => "fault",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

/// One finding of an examination, with the line that mends it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// The check: a stable name.
    pub check: &'static str,
    /// What was found, and what follows from it.
    pub text: String,
    /// The line that mends it.
    pub mend: String,
}

impl Finding {
    pub(crate) fn new(
        severity: Severity,
        check: &'static str,
        text: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self {
            severity,
            check,
            text: text.into(),
            mend: mend.into(),
        }
    }
}

/// Settings and figures of a server, by name.
#[derive(Debug, Clone, Default)]
pub struct Facts(BTreeMap<String, String>);

impl Facts {
    pub(crate) fn insert(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// Returns a value; the empty text if there is none.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Returns a value that is a number; 0 if there is none.
    pub(crate) fn number(&self, name: &str) -> i64 {
        self.get(name).parse().unwrap_or(0)
    }

    /// Returns whether a setting is on.
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    pub(crate) fn is_on(&self, name: &str) -> bool {
        ["1", "on", "ON", "true", "t", "YES"].contains(&self.get(name))
    }
}

/// Adds a finding: how much it matters, the check, the text, and the line that mends it.
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(crate) type AddFinding<'a> = &'a mut dyn FnMut(Severity, &'static str, String, String);
