//! Where a claim begins to read: behind what every other transaction has left, too.
//!
//! An index keeps the entries of deleted rows for as long as a transaction may see them. A relay that begins at the front of
//! the index steps over them with each claim; one that begins where the first ready event is steps over them once. A bound
//! on `seq` would not do: a smaller one may be committed later. The number of a transaction is a bound, because
//! the database says which transactions are still open:
//!
//! - An event that becomes ready carries the number of the transaction that makes it so. A snapshot that does not list a
//!   number below its end as running sees what that transaction wrote, or nobody ever will.
//! - So all ready events below the end of a snapshot are those that it sees, and those of the transactions that it lists.
//!   The next claim reads from the first of them, by number and `seq`. A transaction that stays open does not hold that bound down: it is
//!   remembered by its number.
//!
//! It holds for the session that it was learnt from: another server may count otherwise, and the same one after a crash. A claim
//! that another session answers reads from the front, as one behind a pooler may each time. It is forgotten with the connection,
//! and from time to time, for a table that was restored under a relay.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How many open transactions are remembered by their number.
const OPEN_MAX: usize = 8;

/// The time between two claims that read from the front of the index.
const WHOLE: Duration = Duration::from_mins(5);

/// Where a ready event is in the index: its number, and its `seq`.
pub(super) type Position = (u64, i64);

/// A snapshot's parts: every transaction below `end` is finished, except those that run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Snapshot {
    pub(super) end: u64,
    /// In ascending order.
    pub(super) running: Vec<u64>,
}

impl Snapshot {
    /// Reads the text of a `pg_snapshot`: `xmin:xmax:xip_list`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let (_first, end, list) = (parts.next()?, parts.next()?, parts.next()?);
        let numbers = list.split(',').filter(|number| !number.is_empty());
        let mut running: Vec<u64> = numbers.map(str::parse).collect::<Result<_, _>>().ok()?;
        running.sort_unstable();
        Some(Self {
            end: end.parse().ok()?,
            running,
        })
    }
}

/// What a claim has observed beside its events, all in one snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Observed {
    pub(super) snapshot: Snapshot,
    /// The first ready event from the floor on, whoever has claimed it.
    pub(super) lowest: Option<Position>,
    /// The numbers of `open` that ready events have.
    pub(super) occupied: Vec<u64>,
    /// The session that answered, if it has a name.
    pub(super) session: Option<String>,
}

/// What ready events a claim has to read.
#[derive(Debug, Default)]
pub struct Horizon {
    floor: Position,
    open: Vec<u64>,
    session: String,
    read_whole: Option<Instant>,
}

impl Horizon {
    /// Begins a claim: from the front, if none has for a while.
    pub(super) fn begin(&mut self, now: Instant) {
        if self
            .read_whole
            .is_none_or(|at| now.duration_since(at) >= WHOLE)
        {
            *self = Self {
                read_whole: Some(now),
                ..Self::default()
            };
        }
    }

    /// The claim reads all events from here on.
    pub(super) fn floor(&self) -> Position {
        self.floor
    }

    /// The session from which it was learnt: digits, or nothing, which is no session's name.
    pub(super) fn session(&self) -> &str {
        &self.session
    }

    /// The claim reads the events of these smaller numbers.
    pub(super) fn open(&self) -> &[u64] {
        &self.open
    }

    pub(super) fn learn(&mut self, observed: &Observed) {
        let is_plain = |name: &&String| {
            name.bytes()
                .all(|byte| byte.is_ascii_digit() || b" .".contains(&byte))
        };
        self.session = observed
            .session
            .as_ref()
            .filter(is_plain)
            .cloned()
            .unwrap_or_default();
        let Snapshot { end, running } = &observed.snapshot;
        let bound = (*running.get(OPEN_MAX).unwrap_or(end), 0);
        let floor = observed.lowest.map_or(bound, |lowest| lowest.min(bound));
        let below = |number: &&u64| **number < floor.0;
        let open: BTreeSet<u64> = running
            .iter()
            .filter(below)
            .chain(observed.occupied.iter().filter(below))
            .copied()
            .collect();
        match open.first() {
            Some(first) if open.len() > 2 * OPEN_MAX => {
                (self.floor, self.open) = ((*first, 0), Vec::new());
            }
            _ => (self.floor, self.open) = (floor, open.into_iter().collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A database of transactions that begin, write ready events, and end in any order.
    #[derive(Default)]
    struct Model {
        next: u64,
        seq: i64,
        ended: u64,
        running: BTreeMap<u64, Vec<i64>>,
        ready: BTreeSet<Position>,
    }

    impl Model {
        fn step(&mut self, chance: &mut fastrand::Rng) {
            let numbers: Vec<_> = self.running.keys().copied().collect();
            match chance.u8(0..4) {
                0 => {
                    self.next += 1;
                    self.running.insert(self.next, Vec::new());
                }
                1 => {
                    if let Some(rows) = chance.choice(self.running.values_mut()) {
                        self.seq += 1;
                        rows.push(self.seq);
                    }
                }
                // Old transactions stay open for longer.
                2 => self.end(chance.choice(numbers.iter().rev().take(4)), chance.bool()),
                _ => self.end(chance.choice(&numbers), true),
            }
        }

        fn end(&mut self, number: Option<&u64>, commits: bool) {
            let Some(number) = number else { return };
            let rows = self.running.remove(number).unwrap_or_default();
            self.ended = self.ended.max(*number);
            if commits {
                self.ready.extend(rows.iter().map(|seq| (*number, *seq)));
            }
        }

        /// Its end is one above the last number that has ended, as PostgreSQL takes it.
        fn snapshot(&self) -> Snapshot {
            let running = self.running.keys().copied();
            Snapshot {
                end: self.ended + 1,
                running: running.filter(|number| *number <= self.ended).collect(),
            }
        }
    }

    #[test]
    fn no_claim_passes_over_an_event_whatever_is_committed_when() {
        for seed in 0..200 {
            let mut chance = fastrand::Rng::with_seed(seed);
            let (mut model, mut horizon) = (Model::default(), Horizon::default());
            let mut furthest = 0;
            for _ in 0..400 {
                for _ in 0..chance.u8(0..12) {
                    model.step(&mut chance);
                }
                let is_read =
                    |at: &&Position| **at >= horizon.floor() || horizon.open().contains(&at.0);
                let read: BTreeSet<_> = model.ready.iter().filter(is_read).copied().collect();
                assert_eq!(read, model.ready, "seed {seed}");
                let lowest = read.range(horizon.floor()..).next().copied();
                let open = horizon.open().iter().copied();
                let is_occupied = |number: &u64| read.iter().any(|at| at.0 == *number);
                let occupied = open.filter(is_occupied).collect();
                horizon.learn(&Observed {
                    snapshot: model.snapshot(),
                    lowest,
                    occupied,
                    session: None,
                });
                furthest = furthest.max(horizon.floor().0);
                // Some of them leave.
                model.ready.retain(|_| chance.u8(0..4) == 0);
            }
            assert!(furthest > 50, "seed {seed}: the floor stays at {furthest}");
        }
    }

    #[test]
    fn an_open_transaction_is_remembered_and_holds_the_floor_down_only_in_a_crowd() {
        let observed = |text: &str| Observed {
            snapshot: Snapshot::parse(text).expect("a snapshot"),
            lowest: None,
            occupied: Vec::new(),
            session: None,
        };
        let mut horizon = Horizon::default();
        horizon.learn(&observed("7:100:7,50"));
        assert_eq!((horizon.floor(), horizon.open()), ((100, 0), &[7, 50][..]));
        horizon.learn(&observed("120:120:"));
        assert_eq!((horizon.floor(), horizon.open().len()), ((120, 0), 0));
        let many: Vec<_> = (130..160).map(|number| number.to_string()).collect();
        horizon.learn(&observed(&format!("130:200:{}", many.join(","))));
        assert_eq!((horizon.floor(), horizon.open().len()), ((138, 0), 8));
    }

    #[test]
    fn after_a_while_a_claim_reads_from_the_front() {
        let (mut horizon, now) = (Horizon::default(), Instant::now());
        horizon.begin(now);
        horizon.floor = (9, 7);
        horizon.begin(now + WHOLE / 2);
        assert_eq!(horizon.floor(), (9, 7));
        horizon.begin(now + WHOLE);
        assert_eq!(horizon.floor(), (0, 0));
    }
}
