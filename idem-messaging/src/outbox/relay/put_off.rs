//! When the events are due again that a relay has put off.

use std::collections::BTreeSet;
use std::time::Instant;

/// How many times are remembered: the earliest ones. A poll finds the others.
const REMEMBERED: usize = 256;

/// The times at which a relay looks again, whatever it hears and finds until then.
#[derive(Debug, Default)]
pub(super) struct PutOff(BTreeSet<Instant>);

impl PutOff {
    pub(super) fn add(&mut self, due: Instant) {
        self.0.insert(due);
        if self.0.len() > REMEMBERED {
            self.0.pop_last();
        }
    }

    /// Forgets what a claim at this time finds, and returns the next time after it.
    pub(super) fn after(&mut self, claim: Instant) -> Option<Instant> {
        self.0.retain(|due| *due > claim);
        self.0.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_earliest_times_are_remembered_until_a_claim_has_passed_them() {
        let (mut put_off, now) = (PutOff::default(), Instant::now());
        let at = |second| now + Duration::from_secs(second);
        for second in (1..=300).rev() {
            put_off.add(at(second));
        }
        assert_eq!(put_off.after(now), Some(at(1)));
        assert_eq!(put_off.after(at(7)), Some(at(8)));
        assert_eq!(put_off.after(at(255)), Some(at(256)));
        assert_eq!(put_off.after(at(256)), None);
    }
}
