//! The status of a record as it is stored, one that this build does not know among them.

use std::fmt;

use crate::values::record::Status;

/// The status of a record as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoredStatus(i16);

impl StoredStatus {
    /// On MySQL and MariaDB, a claim that its body has committed without a record.
    pub const CLAIMED: Self = Self(0);
    /// The body succeeded.
    pub const COMPLETED: Self = Self(Status::Completed.code());
    /// The body failed permanently.
    pub const FAILED: Self = Self(Status::Failed.code());
    /// An attempt holds the key under a lease.
    pub const IN_PROGRESS: Self = Self(Status::InProgress.code());
    /// Nobody knows whether the effect happened.
    pub const UNKNOWN: Self = Self(Status::Unknown.code());
    /// The next caller may claim the key.
    pub const RELEASED: Self = Self(Status::Released.code());

    /// All that this build knows.
    pub const ALL: [Self; 6] = [
        Self::CLAIMED,
        Self::COMPLETED,
        Self::FAILED,
        Self::IN_PROGRESS,
        Self::UNKNOWN,
        Self::RELEASED,
    ];

    pub(super) fn from_code(code: i16) -> Self {
        Self(code)
    }

    /// Returns the code as it is stored.
    pub const fn code(self) -> i16 {
        self.0
    }

    /// Returns whether a purge may delete such a record, and [`forget`](super::Operator::forget) does.
    pub fn is_final(self) -> bool {
        [Self::COMPLETED, Self::FAILED, Self::RELEASED].contains(&self)
    }
}

impl fmt::Display for StoredStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            Self::CLAIMED => "claimed",
            Self::COMPLETED => "completed",
            Self::FAILED => "failed",
            Self::IN_PROGRESS => "in-progress",
            Self::UNKNOWN => "unknown",
            Self::RELEASED => "released",
            Self(other) => return write!(f, "status-{other}"),
        };
        f.pad(name)
    }
}
