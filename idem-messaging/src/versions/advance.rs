//! What became of a version that was offered.

use crate::inbox::{Answer, AsAnswer};

/// What became of a version that was offered to a projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an event is applied only after `Advance::Applied`"]
pub enum Advance {
    /// It is the next one, and the projection is there now: apply the event in this transaction.
    Applied,
    /// The projection is there or further: an event delivered again, or overtaken. Acknowledge it.
    Stale {
        /// The version of the projection.
        current: i64,
    },
    /// An earlier event has not come. Return an error, so that nothing of this delivery remains and it comes again.
    Gap {
        /// The version that comes next.
        expected: i64,
        /// The version of the projection; one less than the first if it has none.
        current: i64,
    },
}

/// An event came before an earlier one. Nothing was written; the broker is to deliver it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "version {offered} came before version {expected}; nothing was written; deliver it again, or build the projection anew if version {expected} will never come"
)]
pub struct VersionGap {
    /// The version of the event.
    pub offered: i64,
    /// The version that comes next.
    pub expected: i64,
}

impl Advance {
    pub(super) fn from_found(found: i64, offered: i64) -> Self {
        match offered.checked_sub(1) {
            Some(previous) if previous == found => Self::Applied,
            Some(previous) if previous > found => Self::Gap {
                expected: found.saturating_add(1),
                current: found,
            },
            _ => Self::Stale { current: found },
        }
    }

    /// What became of a version that need not be the next one.
    pub(super) fn to_newer(found: i64, offered: i64) -> Self {
        if found < offered {
            Self::Applied
        } else {
            Self::Stale { current: found }
        }
    }

    /// Returns whether the event is to be applied: `false` if it is stale.
    ///
    /// ```
    /// # use idem_messaging::versions::Advance;
    /// assert_eq!(Advance::Applied.or_gap(17), Ok(true));
    /// assert_eq!(Advance::Stale { current: 20 }.or_gap(17), Ok(false));
    /// assert!(Advance::Gap { expected: 16, current: 15 }.or_gap(17).is_err());
    /// ```
    ///
    /// # Errors
    /// [`VersionGap`] if an earlier event has not come. `offered` is the version that was offered.
    pub fn or_gap(self, offered: i64) -> Result<bool, VersionGap> {
        match self {
            Self::Applied => Ok(true),
            Self::Stale { .. } => Ok(false),
            Self::Gap { expected, .. } => Err(VersionGap { offered, expected }),
        }
    }
}

impl AsAnswer for VersionGap {
    /// Failed: it comes again by the policy's backoff, and uses up an attempt, so that a gap that is never closed ends as a
    /// dead letter.
    fn as_answer(&self) -> Answer {
        Answer::failed(self)
    }
}
