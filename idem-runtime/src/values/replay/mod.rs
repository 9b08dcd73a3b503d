//! The return value of a handler's call: the result, and whether it is a replay.

mod call;

use std::fmt;
use std::ops::Deref;

use serde::{Serialize, Serializer};

pub(crate) use self::call::failed;
pub use self::call::{ReplayExt, ReplayableCall};
use crate::values::record::{Record, Timestamp};

/// A result of the first run or of a replay. Dereferences to the result and serializes as it.
///
/// Metrics and audit logs can tell a replay from a first run, so that they do not count it as a
/// second effect:
///
/// ```
/// use idem_runtime::Replayable;
///
/// fn report(payment: &Replayable<u64>) -> &'static str {
///     if payment.replayed() { "answered again" } else { "paid" }
/// }
/// ```
///
/// To make an HTTP response of it, use [`map`](Self::map): axum's `Json<T>` cannot be stored, but
/// `T` can.
///
/// `Debug` prints whether it is a replay, but not the result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Replayable<T> {
    value: T,
    recorded_at: Option<Timestamp>,
}

impl<T> fmt::Debug for Replayable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replayable")
            .field("recorded_at", &self.recorded_at)
            .finish_non_exhaustive()
    }
}

impl<T> Replayable<T> {
    pub(crate) const fn first(value: T) -> Self {
        Self {
            value,
            recorded_at: None,
        }
    }

    pub(crate) const fn recorded(value: T, recorded_at: Option<Timestamp>) -> Self {
        Self { value, recorded_at }
    }

    pub(crate) fn again(value: T, record: &Record) -> Self {
        Self {
            value,
            recorded_at: Some(record.created_at),
        }
    }

    /// Returns whether this is the recorded result of an earlier attempt.
    pub const fn replayed(&self) -> bool {
        self.recorded_at.is_some()
    }

    /// Returns when the replayed result was recorded, by the database's clock, or `None` for a
    /// first run.
    pub const fn recorded_at(&self) -> Option<Timestamp> {
        self.recorded_at
    }

    /// Returns the result.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// Converts the result by `f`; a replay stays a replay.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Replayable<U> {
        Replayable {
            value: f(self.value),
            recorded_at: self.recorded_at,
        }
    }

    /// Returns a `Replayable` of a reference to the result; a replay stays a replay.
    pub const fn as_ref(&self) -> Replayable<&T> {
        Replayable {
            value: &self.value,
            recorded_at: self.recorded_at,
        }
    }
}

impl<T> Deref for Replayable<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// Serializes only the result. A response made as `Json(payment)` does not state that it is a
/// replay; one made as `payment.map(Json)` does.
impl<T: Serialize> Serialize for Replayable<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}
