//! What one look at a key means to those who wait for it.

use std::sync::Arc;

use crate::decision::{Lookup, Phase};
use crate::stores::Backend;
use crate::values::error::Error;
use crate::values::record::{AttemptId, Status};

/// A record in one of its states: each change of the record is a new one.
pub(super) type Version = (AttemptId, Status);

/// What a look at the key has shown.
#[derive(Debug)]
pub(super) enum KeyState {
    /// An attempt is in flight, under a lock or a lease.
    InFlight(Option<Arc<Lookup>>),
    /// Nobody holds the key: a waiter may claim it. The record, if there is one, is final or released.
    Free(Option<Arc<Lookup>>),
    /// The lease of the last attempt has lapsed: a leased call may settle or take it over.
    Lapsed(Arc<Lookup>),
    /// The look says nothing: it was not answered in time, or no connection was to be had.
    Silent,
    /// The look was refused. A waiter that claims for itself is told why.
    Refused,
    /// The pool is closed: no look will follow.
    Closed,
}

impl KeyState {
    pub(super) fn of<DB: Backend>(looked: Result<Lookup, Error>) -> Self {
        match looked {
            Ok(lookup) => Self::of_lookup(lookup),
            Err(Error::Unavailable(error))
                if matches!(error.as_sqlx(), sqlx::Error::PoolClosed) =>
            {
                Self::Closed
            }
            Err(Error::Unavailable(error))
                if matches!(error.as_sqlx(), sqlx::Error::PoolTimedOut) =>
            {
                Self::Silent
            }
            Err(Error::Busy(_)) => Self::Silent,
            Err(error) if DB::is_momentary(&error) => Self::Silent,
            Err(_) => Self::Refused,
        }
    }

    fn of_lookup(lookup: Lookup) -> Self {
        let phase = Phase::of(&lookup);
        let found = lookup.record.is_some().then(|| Arc::new(lookup));
        match (phase, found) {
            (Phase::InFlight, found) => Self::InFlight(found),
            (Phase::Lapsed, Some(found)) => Self::Lapsed(found),
            (Phase::Free | Phase::Lapsed, found) => Self::Free(found),
        }
    }

    /// Returns the look-up that found a record.
    pub(super) fn found(&self) -> Option<&Arc<Lookup>> {
        match self {
            Self::InFlight(found) | Self::Free(found) => found.as_ref(),
            Self::Lapsed(found) => Some(found),
            Self::Silent | Self::Refused | Self::Closed => None,
        }
    }
}

/// Returns the version of the record that was found.
pub(super) fn version(lookup: &Lookup) -> Option<Version> {
    let record = lookup.record.as_ref()?;
    Some((record.attempt_id, record.status))
}
