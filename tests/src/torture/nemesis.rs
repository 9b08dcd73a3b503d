//! The faults, and their order.

use std::fmt;

use super::choice;
use super::link::{Harm, Point};

/// One fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Blow {
    /// Kills a client by SIGKILL.
    KillClient,
    /// Kills every client by SIGKILL: on SQLite a crash of the database.
    KillAll,
    /// Stops a client by SIGSTOP with all its locks, and continues it by SIGCONT after a while.
    Freeze,
    /// Terminates every backend.
    Terminate,
    /// Crashes the server (immediate shutdown) and lets it recover.
    Crash,
    /// Restarts the server cleanly.
    Restart,
    /// Cuts every link at once.
    CutLinks,
    /// Disturbs the next message of this kind.
    Link(Point, Harm),
    /// Holds the lock that writers need.
    Hold,
    /// Reads, which delays a rollback journal's COMMIT.
    Read,
    /// Writes the write-ahead log back and truncates it.
    Checkpoint,
}

impl Blow {
    /// Returns whether the fault takes effect at once. A harm to a link waits for its message.
    pub fn hits_at_once(self) -> bool {
        !matches!(self, Self::Link(..))
    }
}

impl fmt::Display for Blow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KillClient => "a client killed",
            Self::KillAll => "all clients killed at once",
            Self::Freeze => "a client frozen for a while",
            Self::Terminate => "all backends terminated",
            Self::Crash => "the server crashed",
            Self::Restart => "the server restarted",
            Self::CutLinks => "all links cut",
            Self::Link(point, harm) => return write!(f, "{point}: {harm}"),
            Self::Hold => "writers held up by another's lock",
            Self::Read => "writers held up by a reader",
            Self::Checkpoint => "the write-ahead log cut short",
        })
    }
}

/// Returns the `n`th fault: the number of answers after which it comes, the fault, and a number
/// that selects its victim.
pub fn blow<B: Copy>(
    seed: u64,
    n: u64,
    answers: u64,
    blows: u64,
    possible: &[B],
) -> Option<(u64, B, u64)> {
    let at = |index| choice(seed ^ 0x6E65_6D65_7369_7321, n * 4 + index);
    let stride = (answers / (blows + 1)).max(1);
    let moment = (n + 1) * stride - at(0) % stride.div_ceil(2);
    // Each fault comes once before any is repeated, in an order that the seed shuffles.
    let count = possible.len() as u64;
    let turn = n / count.max(1);
    let mut left = possible.to_vec();
    let mut chosen = None;
    for k in 0..=n.checked_rem(count)? {
        let pick = choice(seed ^ 0x7475_726E, turn * 64 + k) % left.len() as u64;
        chosen = Some(left.swap_remove(usize::try_from(pick).ok()?));
    }
    Some((moment, chosen?, at(1)))
}

#[cfg(test)]
mod tests {
    use super::{Blow, blow};

    const POSSIBLE: [Blow; 3] = [Blow::KillAll, Blow::Crash, Blow::Crash];

    #[test]
    fn a_seed_chooses_the_same_blows_again_and_all_kinds_come() {
        let dealt = |seed| -> Vec<_> {
            (0..30)
                .map(|n| blow(seed, n, 1_000, 30, &POSSIBLE).unwrap())
                .collect()
        };
        assert_eq!(dealt(1), dealt(1));
        assert_ne!(dealt(1), dealt(2));
        let kinds = |kind| dealt(1).iter().filter(|blow| blow.1 == kind).count();
        assert_eq!((kinds(Blow::KillAll), kinds(Blow::Crash)), (10, 20));
        assert!(dealt(1).iter().all(|blow| blow.0 < 1_000));
        assert!(dealt(1).is_sorted_by_key(|blow| blow.0));
    }
}
