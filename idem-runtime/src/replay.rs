//! What a handler's caller gets: the result, and whether it is a replay.

mod call;

use std::fmt;
use std::ops::Deref;

use serde::{Serialize, Serializer};

pub(crate) use self::call::failed;
pub use self::call::{ReplayExt, ReplayableCall};
use crate::record::{Record, Timestamp};

/// A result, first-hand or replayed from the record. Derefs to it and serializes as it.
///
/// A replay is visible so that metrics and audit need not count it as a second effect:
///
/// ```
/// use idem_runtime::Replayable;
///
/// fn report(payment: &Replayable<u64>) -> &'static str {
///     if payment.replayed() { "answered again" } else { "paid" }
/// }
/// ```
///
/// A web answer is made from it with [`map`](Self::map): axum's `Json<T>` cannot be stored, `T`
/// can.
///
/// `Debug` says whether it is a replay, and shows nothing of the result: format that itself.
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

    pub(crate) fn again(value: T, record: &Record) -> Self {
        Self {
            value,
            recorded_at: Some(record.created_at),
        }
    }

    /// Whether this is the recorded result of an earlier attempt.
    pub const fn replayed(&self) -> bool {
        self.recorded_at.is_some()
    }

    /// When the replayed result was recorded, by the database's clock; `None` for a first run.
    pub const fn recorded_at(&self) -> Option<Timestamp> {
        self.recorded_at
    }

    /// The result itself.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// The same with another value, as replayed as before.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Replayable<U> {
        Replayable {
            value: f(self.value),
            recorded_at: self.recorded_at,
        }
    }

    /// A borrowed view, as replayed as this.
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

/// Serializes as the result alone: an answer that is made of it, `Json(payment)`, does not say that it is a
/// replay. `payment.map(Json)` does.
impl<T: Serialize> Serialize for Replayable<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}
