//! The fence as a predicate over a record that the model holds.

use crate::decision::Change;
use crate::values::policy::OnLapse;
use crate::values::record::{AttemptId, Record, Timestamp};

impl Change {
    /// Returns the change that a lapsed lease gets under this policy if no attempt takes it over.
    pub(crate) const fn lapse(on_lapse: OnLapse) -> Self {
        match on_lapse {
            OnLapse::Unknown => Self::Lapse,
            OnLapse::Retry => Self::LapseReleased,
        }
    }

    /// Returns whether the change is allowed on this record. `expected` is the writer's own attempt, or
    /// the attempt of the record that the writer read.
    pub(crate) fn permits(self, record: &Record, expected: AttemptId, now: Timestamp) -> bool {
        record.attempt_id == expected
            && self.from().contains(&record.status)
            && (!self.wants_lapsed() || record.locked_until.is_some_and(|until| until <= now))
    }
}
