//! What an operation asks of the library, as plain data.

use std::time::Duration;

/// How long a record lives when the operation does not say: 24 hours.
pub const DEFAULT_RETENTION: Duration = Duration::from_hours(24);

/// The longest retention that an operation may ask for: 3,650 days.
pub const MAX_RETENTION: Duration = Duration::from_hours(3_650 * 24);

/// How long a duplicate waits for the attempt in flight when `on_conflict = "wait"` names no time:
/// 2 seconds.
pub const DEFAULT_WAIT: Duration = Duration::from_secs(2);

/// The longest wait that an operation may ask for: 60 seconds.
pub const MAX_WAIT: Duration = Duration::from_mins(1);

/// When a caller refused as in flight should try again, where nothing better is known: 1 second.
pub const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(1);

/// What a duplicate gets while the first attempt is still running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// [`Error::InFlight`](crate::Error::InFlight), at once.
    #[default]
    Reject,
    /// Up to this long, polling without a pooled connection; then a replay, or
    /// [`Error::InFlight`](crate::Error::InFlight) when the time is over.
    Wait(Duration),
}

/// What becomes of a handler's `Err`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Failures {
    /// Everything is rolled back and the key stays fresh: the next call runs the body again.
    #[default]
    Retry,
    /// A permanent failure is recorded and replayed; the body's writes are undone. See
    /// [`Failure`](crate::Failure).
    Record,
}

/// How a record past its retention is read before a purge has deleted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expiry {
    /// It still replays. The safe reading: a late retry never runs the body twice for want of a
    /// purge.
    #[default]
    Replay,
    /// It counts as absent, by the database's clock: the body runs again and the record is
    /// replaced.
    Strict,
}

/// Everything an operation asks of the library, apart from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// How long the record lives, counted by the database's clock from its writing.
    pub retention: Duration,
    /// What a duplicate gets while the first attempt runs.
    pub on_conflict: OnConflict,
    /// What becomes of a handler's `Err`.
    pub failures: Failures,
    /// How a record past its retention is read.
    pub expiry: Expiry,
    /// Whether the request is kept beside its fingerprint, for diagnosing a mismatch. Off by
    /// default: requests carry personal data.
    pub record_request: bool,
    /// Whether a call without a key is refused. When false, such a call runs without idempotency.
    pub key_required: bool,
    /// Whether requests are compared at all.
    pub fingerprint: bool,
}

impl Policy {
    /// The defaults of the attribute's table.
    pub const DEFAULT: Self = Self {
        retention: DEFAULT_RETENTION,
        on_conflict: OnConflict::Reject,
        failures: Failures::Retry,
        expiry: Expiry::Replay,
        record_request: false,
        key_required: true,
        fingerprint: true,
    };
}

impl Default for Policy {
    fn default() -> Self {
        Self::DEFAULT
    }
}
