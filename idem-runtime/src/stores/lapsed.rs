//! What is looked for among leases that have ended: those that a worker may take over, and unknown outcomes.

use std::fmt;

use crate::values::record::{AttemptId, Record, Timestamp};

/// Selects lapsed leases that may be taken over.
#[derive(Debug, Clone, Copy)]
pub struct LapsedSearch<'a> {
    pub(crate) table: &'a str,
    /// Namespace and name of the operations: at least one.
    pub(crate) operations: &'a [(&'static str, &'static str)],
    pub(crate) limit: u32,
    /// The last lease of the page before.
    pub(crate) after: Option<&'a LapsedLease>,
}

/// A lease that has lapsed under `on_lapse = "retry"`, as it was found.
#[derive(Clone)]
pub struct LapsedLease {
    pub(crate) namespace: String,
    pub(crate) operation: String,
    pub(crate) scope: String,
    pub(crate) key: String,
    pub(crate) attempt_id: AttemptId,
    pub(crate) attempt: i32,
    pub(crate) locked_until: Timestamp,
    /// When it was found, by the database's clock.
    pub(crate) now: Timestamp,
}

impl fmt::Debug for LapsedLease {
    /// Shows neither scope nor key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LapsedLease")
            .field("operation", &self.operation)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

/// Selects the records of unknown outcome to list.
#[derive(Clone, Copy)]
pub struct Page<'a> {
    pub(crate) table: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) limit: u32,
    /// `locked_until`, scope and key of the last record on the page before.
    pub(crate) after: Option<(Timestamp, &'a str, &'a str)>,
}

impl fmt::Debug for Page<'_> {
    /// Shows no key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page").finish_non_exhaustive()
    }
}

/// A record of unknown outcome, with its scope and key.
pub struct UnknownRecord {
    pub(crate) scope: String,
    pub(crate) key: String,
    pub(crate) record: Record,
}

impl fmt::Debug for UnknownRecord {
    /// Shows neither scope nor key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnknownRecord").finish_non_exhaustive()
    }
}
