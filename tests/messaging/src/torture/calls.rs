//! The calls of the handlers.

use idem_tests::torture::choice;
use serde::{Deserialize, Serialize};

use super::fact::PARTITIONS;

/// The number of calls after which one repeats a key of another caller.
const REPEATED: u64 = 5;

/// A request, determined by its key.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Asked {
    /// The partition, or [`PARTITIONS`] for none.
    pub partition: i64,
    /// Whether the append locks the partition.
    pub is_locked: bool,
}

/// The outcome of a run of the body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fate {
    /// Succeeds.
    Succeeds,
    /// Succeeds some tens of milliseconds after its event was appended, so that others commit before it.
    Lingers,
    /// Fails after its event was appended.
    Fails,
}

/// One call of a caller, determined by its place among them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Call {
    /// The key.
    pub key: String,
    /// The request.
    pub asked: Asked,
}

/// Returns the number of calls of each caller for at least so many events of all, and the number of events.
pub fn planned(events: u64, callers: u64) -> (u64, u64) {
    let each = events.div_ceil(callers).next_multiple_of(REPEATED - 1);
    (each / (REPEATED - 1) * REPEATED, each * callers)
}

impl Call {
    /// Returns the `index`th call of a caller. Most calls have a key of their own; the others repeat a key of the next
    /// caller, which that one calls at about the same time.
    pub fn chosen(caller: u64, callers: u64, index: u64) -> Self {
        let (round, step) = (index / REPEATED, index % REPEATED);
        let (owner, step) = if step == REPEATED - 1 {
            ((caller + 1) % callers, choice(index, caller) % step)
        } else {
            (caller, step)
        };
        let number = (round * (REPEATED - 1) + step) * callers + owner;
        Self {
            key: format!("key-{number}"),
            asked: Asked::of(number),
        }
    }
}

impl Asked {
    fn of(number: u64) -> Self {
        let partition = choice(number, 1) % PARTITIONS.unsigned_abs().wrapping_add(1);
        Self {
            partition: partition.cast_signed(),
            is_locked: partition < PARTITIONS.unsigned_abs() / 2,
        }
    }
}

impl Fate {
    /// Returns the outcome of the body for this try.
    pub fn of(seed: u64, index: u64, tried: u64) -> Self {
        match choice(seed ^ tried, index * 8 + 4) % 16 {
            0 | 1 => Self::Fails,
            2 | 3 => Self::Lingers,
            _ => Self::Succeeds,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Call, planned};

    #[test]
    fn each_event_is_called_by_its_owner_and_some_by_another_too() {
        let callers = 12;
        let (calls, events) = planned(1_000, callers);
        let all = (0..callers).flat_map(|caller| {
            (0..calls).map(move |index| Call::chosen(caller, callers, index).key)
        });
        let keys: Vec<_> = all.collect();
        let different: BTreeSet<_> = keys.iter().collect();
        assert_eq!(different.len() as u64, events);
        assert!(events >= 1_000 && keys.len() as u64 > events);
    }
}
