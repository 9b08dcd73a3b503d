//! Tests of the bounds of an operation and of a store: the same in a constant and at run time.

use std::panic::{UnwindSafe, catch_unwind};
use std::time::Duration;

use crate::stores::RawStore;
use crate::values::key::Namespace;
use crate::values::operation::Operation;
use crate::values::policy::{Lease, MAX_LEASE, MAX_RETENTION, MAX_WAIT, MIN_LEASE, OnLapse};
use crate::values::spec::{TABLE_MAX, is_table};

/// Returns whether a builder panics, which is a compile error in a constant.
fn is_refused<O>(build: impl FnOnce() -> O + UnwindSafe) -> bool {
    catch_unwind(build).is_err()
}

fn around(limit: Duration) -> [Duration; 5] {
    let (nano, micro) = (Duration::from_nanos(1), Duration::from_micros(1));
    let half = Duration::from_millis(500);
    [
        limit.saturating_sub(micro),
        limit.saturating_sub(nano),
        limit,
        limit + nano,
        limit + half,
    ]
}

#[test]
fn bounds_hold_to_the_nanosecond_and_in_a_constant_as_at_run_time() {
    const OPERATION: Operation = Operation::new("n", "o");
    let namespace = Namespace::new("n").unwrap();
    let least = Duration::from_micros(1);
    for retention in around(least).into_iter().chain(around(MAX_RETENTION)) {
        let fits = retention >= least && retention <= MAX_RETENTION;
        assert_eq!(is_refused(|| OPERATION.retention(retention)), !fits);
        let store = RawStore::new(namespace.clone());
        assert_eq!(store.retention(retention).is_ok(), fits, "{retention:?}");
    }
    for wait in around(least).into_iter().chain(around(MAX_WAIT)) {
        let fits = wait >= least && wait <= MAX_WAIT;
        assert_eq!(is_refused(|| OPERATION.wait(wait)), !fits, "{wait:?}");
    }
    for lease in around(MIN_LEASE).into_iter().chain(around(MAX_LEASE)) {
        let fits = (MIN_LEASE..=MAX_LEASE).contains(&lease);
        let refused = is_refused(|| OPERATION.lease(lease, OnLapse::Retry));
        assert_eq!(refused, !fits, "{lease:?}");
        assert_eq!(Lease::new(lease, OnLapse::Retry).is_ok(), fits);
    }
}

#[test]
fn a_table_is_fit_everywhere_or_nowhere() {
    let namespace = Namespace::new("n").unwrap();
    for length in 0..=70 {
        for prefix in ["", "app.", &format!("{}.", "s".repeat(63))] {
            let table: &'static str = format!("{prefix}{}", "t".repeat(length)).leak();
            let fits = (1..=TABLE_MAX).contains(&length);
            assert_eq!(is_table(table), fits, "{table}");
            assert_eq!(
                is_refused(|| Operation::new("n", "o").table(table)),
                !fits,
                "{table}"
            );
            let store = RawStore::new(namespace.clone());
            assert_eq!(store.table(table).is_ok(), fits, "{table}");
        }
    }
    assert!(!is_table(&format!("{}.t", "s".repeat(64))));
}
