//! A model checker. It explores every order of claims, heartbeats, lapses, takeovers, ends, crashes
//! and reconciliation, for two callers and a few moments in time.
//!
//! The model decides by the library's own [`decide`](super::decide) and writes under the library's
//! own [`Change::permits`]. It adds the behaviour of a database and a network: reading and writing
//! are two steps, an answer may be lost, a message may arrive late. The owner's clock starts before
//! its claim is sent, as in the library.
//!
//! Each law is checked after each step. The tests with broken rules prove that the checks can fail.

mod explore;
mod fence;
mod world;

use self::explore::{explore, violation};
use self::world::Rules;
use super::Change;
use crate::values::policy::OnLapse;

const UNKNOWN: Rules = Rules {
    on_lapse: OnLapse::Unknown,
    permits: Change::permits,
    takes_live_leases: false,
    release_deletes: false,
    differ: false,
    released_is_not_compared: false,
};

const RETRY: Rules = Rules {
    on_lapse: OnLapse::Retry,
    ..UNKNOWN
};

#[test]
fn no_order_of_events_completes_twice_overwrites_a_result_or_steals_a_live_lease() {
    for rules in [UNKNOWN, RETRY] {
        let explored = explore(rules);
        assert_eq!(explored.violation, None, "{:?}", rules.on_lapse);
        // The exploration must have reached each kind of step.
        let reached = &explored.reached;
        for event in [
            "fresh", "extend", "complete", "fail", "release", "doubt", "settle", "held", "rival",
            "fenced", "late", "overdue",
        ] {
            assert!(reached.contains(event), "no {event}: {reached:?}");
        }
        let lapse = match rules.on_lapse {
            OnLapse::Unknown => "lapse",
            OnLapse::Retry => "take over",
        };
        assert!(reached.contains(lapse), "{reached:?}");
        assert!(explored.states > 10_000, "{}", explored.states);
    }
}

#[test]
fn without_the_comparison_of_attempts_a_slow_owner_is_caught() {
    let rules = Rules {
        permits: |change, record, _, now| change.permits(record, record.attempt_id, now),
        ..RETRY
    };
    let found = violation(rules);
    assert!(found.contains("live lease"), "{found}");
}

#[test]
fn without_the_second_look_at_the_lapse_a_heartbeat_in_between_is_caught() {
    for rules in [UNKNOWN, RETRY] {
        let rules = Rules {
            permits: |change, record, expected, _| {
                record.attempt_id == expected && change.from().contains(&record.status)
            },
            ..rules
        };
        let found = violation(rules);
        assert!(found.contains("live lease"), "{found}");
    }
}

#[test]
fn without_the_comparison_of_statuses_an_overwritten_result_is_caught() {
    let rules = Rules {
        permits: |_, record, expected, _| record.attempt_id == expected,
        ..UNKNOWN
    };
    let found = violation(rules);
    assert!(
        found.contains("overwritten") || found.contains("twice") || found.contains("live lease"),
        "{found}"
    );
}

#[test]
fn a_decision_that_takes_live_leases_is_stopped_by_the_fence_alone() {
    let hasty = Rules {
        takes_live_leases: true,
        ..RETRY
    };
    assert_eq!(explore(hasty).violation, None);
    // With that fence removed as well, the violation is found.
    let found = violation(Rules {
        permits: |change, record, expected, now| {
            change == Change::TakeOver || change.permits(record, expected, now)
        },
        ..hasty
    });
    assert!(found.contains("live lease"), "{found}");
}

#[test]
fn a_release_that_deletes_the_record_is_caught() {
    let rules = Rules {
        release_deletes: true,
        ..RETRY
    };
    let found = violation(rules);
    assert!(found.contains("attempt"), "{found}");
}

#[test]
fn a_key_is_never_given_to_another_operation_whatever_became_of_its_attempts() {
    for rules in [UNKNOWN, RETRY] {
        let rules = Rules {
            differ: true,
            ..rules
        };
        let explored = explore(rules);
        assert_eq!(explored.violation, None, "{:?}", rules.on_lapse);
        let reached = &explored.reached;
        assert!(
            reached.contains("replace") && reached.contains("release"),
            "{reached:?}"
        );
    }
}

#[test]
fn a_released_record_that_is_not_compared_is_caught() {
    let rules = Rules {
        differ: true,
        released_is_not_compared: true,
        ..UNKNOWN
    };
    let found = violation(rules);
    assert!(found.contains("given to another"), "{found}");
}
