//! How often a key that calls wait for is looked up.

use std::time::Duration;

use uuid::Uuid;

/// The pause between two looks at one key grows to this, if other keys are waited for as well: 1 second.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// The time that each key waited for in the process adds to the pause: all of them together are looked
/// up 500 times a second at most, until the longest pause is reached.
const PER_KEY: Duration = Duration::from_millis(2);

/// Returns the pause before the next look at a key, after `looks` looks, while the calls of the process
/// wait for `keys` keys.
///
/// It doubles from 2 to 64 milliseconds and grows to 256 with the time. The jitter makes it up to a
/// quarter longer, and never shorter: one key is looked up at most 20 times in any second.
pub(crate) fn pause(looks: u32, keys: usize) -> Duration {
    jittered(
        before_look(looks).max(share(keys)),
        Uuid::new_v4().as_bytes()[0],
    )
}

fn before_look(looks: u32) -> Duration {
    let exponent = match looks {
        0..=4 => looks,
        5..=15 => 5,
        16..=31 => 6,
        32.. => 7,
    };
    Duration::from_millis(2 << exponent)
}

fn share(keys: usize) -> Duration {
    let keys = u32::try_from(keys).unwrap_or(u32::MAX);
    PER_KEY.saturating_mul(keys).min(MAX_PAUSE)
}

fn jittered(pause: Duration, by: u8) -> Duration {
    pause + pause * u32::from(by) / (4 * 255)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// The moments of the looks at one key in a minute, if the dice always say `by`.
    fn looks(keys: usize, by: u8) -> Vec<Duration> {
        let mut now = Duration::ZERO;
        let pauses = (0..).map(|n| jittered(before_look(n).max(share(keys)), by));
        pauses
            .map(|pause| {
                now += pause;
                now
            })
            .take_while(|at| *at < 60 * SECOND)
            .collect()
    }

    #[test]
    fn one_key_is_looked_up_at_most_twenty_times_in_any_second_whatever_the_jitter() {
        for by in [0, 128, 255] {
            let looks = looks(1, by);
            for from in &looks {
                let within = |at: &&Duration| **at >= *from && **at < *from + SECOND;
                let count = looks.iter().filter(within).count();
                assert!(count <= 20, "{count} looks from {from:?} on");
            }
        }
    }

    #[test]
    fn the_looks_become_fewer_with_the_time() {
        let looks = looks(1, 0);
        let in_second = |n| {
            let within = |at: &&Duration| **at >= n * SECOND && **at < (n + 1) * SECOND;
            looks.iter().filter(within).count()
        };
        assert!(in_second(0) > in_second(2) && in_second(2) > in_second(10));
        // A short wait is answered quickly all the same.
        assert!(looks.iter().filter(|at| **at < SECOND / 10).count() >= 5);
    }

    #[test]
    fn the_looks_at_all_keys_together_are_bounded_and_each_key_is_looked_up() {
        for keys in [1, 10, 100, 500, 10_000] {
            let steady = jittered(before_look(u32::MAX).max(share(keys)), 0);
            let all = u128::try_from(keys).unwrap() * SECOND.as_nanos() / steady.as_nanos();
            assert!(
                all <= 500 || steady == MAX_PAUSE,
                "{all} looks at {keys} keys"
            );
            assert!(steady <= MAX_PAUSE);
        }
    }

    #[test]
    fn the_jitter_spreads_the_looks_and_never_hastens_them() {
        let pauses: Vec<_> = (0..100).map(|_| pause(10, 1)).collect();
        let shortest = before_look(10);
        assert!(
            pauses
                .iter()
                .all(|pause| (shortest..=shortest * 5 / 4).contains(pause))
        );
        assert!(pauses.iter().any(|pause| *pause != pauses[0]));
    }
}
