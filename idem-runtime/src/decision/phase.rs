//! Whether an attempt holds a key, from one look at it, for those who run nothing themselves.

use super::{Lock, Lookup};
use crate::values::record::Status;

/// Whether an attempt holds a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// An attempt is in flight, under a lock or a lease.
    InFlight,
    /// The lease of the last attempt has lapsed.
    Lapsed,
    /// Nobody holds the key. The record, if there is one, is final, unknown or released.
    Free,
}

impl Phase {
    /// Returns the phase that the look has shown.
    pub(crate) fn of(lookup: &Lookup) -> Self {
        let is_refused = matches!(lookup.lock, Lock::Refused);
        let Some(record) = &lookup.record else {
            return if is_refused {
                Self::InFlight
            } else {
                Self::Free
            };
        };
        let lapsed = record.locked_until.is_some_and(|until| until <= lookup.now);
        match record.status {
            // An attempt that is to replace the record, which has been released or has expired.
            Status::Completed | Status::Failed | Status::Released if is_refused => Self::InFlight,
            Status::Completed | Status::Failed | Status::Released | Status::Unknown => Self::Free,
            Status::InProgress if lapsed => Self::Lapsed,
            Status::InProgress => Self::InFlight,
        }
    }
}
