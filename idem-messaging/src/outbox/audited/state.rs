//! The state of an event in the outbox.

use std::fmt;

/// The state of an event in the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EventState {
    /// It is published when it is due.
    Pending,
    /// It was published, and is kept.
    Published,
    /// It was set aside: it is published no more, unless an operator requeues it.
    Dead,
    /// It waits for an earlier event of its partition.
    Waiting,
    /// It waits for its topic to be resumed.
    Held,
    /// A state that this build does not know.
    Other(i64),
}

impl EventState {
    /// All that this build knows.
    pub const ALL: [Self; 5] = [
        Self::Pending,
        Self::Published,
        Self::Dead,
        Self::Waiting,
        Self::Held,
    ];

    pub(super) fn from_code(code: i64) -> Self {
        let known = Self::ALL.into_iter().find(|state| state.code() == code);
        known.unwrap_or(Self::Other(code))
    }

    /// Returns the code as it is stored.
    pub const fn code(self) -> i64 {
        match self {
            Self::Pending => 0,
            Self::Published => 1,
            Self::Dead => 2,
            Self::Waiting => 3,
            Self::Held => 4,
            Self::Other(code) => code,
        }
    }
}

impl fmt::Display for EventState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Pending => "pending",
            Self::Published => "published",
            Self::Dead => "dead",
            Self::Waiting => "waiting",
            Self::Held => "held",
            Self::Other(code) => return write!(f, "state-{code}"),
        };
        f.pad(name)
    }
}
