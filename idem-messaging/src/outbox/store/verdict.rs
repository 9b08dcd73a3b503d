//! Which of the events that are due may be claimed: a pure function, for the dialects that do not decide in SQL.

use std::collections::{BTreeMap, BTreeSet};

/// An event that is due, and that nobody else has locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) seq: i64,
    pub(super) topic: String,
    pub(super) partition_key: Option<String>,
}

/// Topic and partition key.
pub(super) type Partition = (String, String);

/// What becomes of the events that are due.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ClaimVerdict {
    pub(super) claimed: Vec<i64>,
    /// Those that wait, by the event that they wait for.
    pub(super) waiting: BTreeMap<i64, Vec<i64>>,
    /// Those whose topic is paused.
    pub(super) held: Vec<i64>,
}

/// The partitions of the events that are due.
pub(super) fn partitions(due: &[Due]) -> BTreeSet<Partition> {
    due.iter().filter_map(Due::partition).collect()
}

/// Decides. `first` has, for each partition, the `seq` of its first events that have not left, in order: one more than
/// are due of it, or all.
pub(super) fn decide(
    due: &[Due],
    first: &BTreeMap<Partition, Vec<i64>>,
    paused: &BTreeSet<String>,
) -> ClaimVerdict {
    let taken: BTreeSet<_> = due.iter().map(|due| due.seq).collect();
    // The first event of the partition that this claim does not take, and that the others must stay behind.
    let front = |due: &Due| {
        let not_left = first.get(&due.partition()?)?;
        let front = *not_left.iter().find(|seq| !taken.contains(seq))?;
        (front < due.seq).then_some(front)
    };
    let mut verdict = ClaimVerdict::default();
    for due in due {
        if paused.contains(&due.topic) {
            verdict.held.push(due.seq);
        } else if let Some(front) = front(due) {
            verdict.waiting.entry(front).or_default().push(due.seq);
        } else {
            verdict.claimed.push(due.seq);
        }
    }
    verdict
}

impl Due {
    fn partition(&self) -> Option<Partition> {
        Some((self.topic.clone(), self.partition_key.clone()?))
    }
}

/// The numbers as the list of an `IN`.
pub(super) fn list(numbers: &[i64]) -> String {
    let numbers: Vec<_> = numbers.iter().map(ToString::to_string).collect();
    numbers.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(seq: i64, key: &str) -> Due {
        Due {
            seq,
            topic: "t".to_owned(),
            partition_key: (!key.is_empty()).then(|| key.to_owned()),
        }
    }

    fn first(key: &str, seqs: &[i64]) -> (Partition, Vec<i64>) {
        (("t".to_owned(), key.to_owned()), seqs.to_vec())
    }

    #[test]
    fn a_run_from_the_front_is_claimed_and_what_is_behind_another_waits_for_it() {
        let due = [
            due(1, "a"),
            due(2, "a"),
            due(4, "a"),
            due(9, "b"),
            due(5, ""),
        ];
        let first = [first("a", &[1, 2, 3, 4]), first("b", &[7, 9])].into();
        let verdict = decide(&due, &first, &BTreeSet::new());
        assert_eq!(verdict.claimed, [1, 2, 5]);
        assert_eq!(verdict.waiting, [(3, vec![4]), (7, vec![9])].into());
    }

    #[test]
    fn an_event_that_comes_late_with_a_smaller_number_is_in_front() {
        let first = [first("a", &[1, 2])].into();
        let verdict = decide(&[due(1, "a")], &first, &BTreeSet::new());
        assert_eq!(verdict.claimed, [1]);
    }

    #[test]
    fn a_paused_topic_is_held_whatever_its_order() {
        let first = [first("a", &[1, 2])].into();
        let verdict = decide(&[due(2, "a"), due(3, "")], &first, &["t".to_owned()].into());
        assert_eq!((verdict.claimed, verdict.held), (vec![], vec![2, 3]));
    }
}
