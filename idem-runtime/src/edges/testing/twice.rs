//! A duplicate on demand.

use std::fmt::Debug;

use serde::Serialize;

use crate::values::replay::{ReplayExt as _, Replayable};

/// Calls a handler twice, and asserts that the second call is a replay of the first: it is marked as one, and its result is
/// the same. Returns the first result.
///
/// The closure makes the same call each time, with the same key. Whether the effect happened once is then a matter of
/// [`one_effect`], which counts it.
///
/// # Panics
/// Panics if a call fails, if the first is a replay (its key was used before), or if the second is none or differs.
pub async fn twice<T, E, F>(call: impl Fn() -> F) -> T
where
    F: Future<Output = Result<Replayable<T>, E>>,
    T: Serialize,
    E: Debug,
{
    let first = succeeded(call().await, "first");
    assert!(
        !first.replayed(),
        "the first call is a replay already: its key was used before, so nothing can be said of a second one"
    );
    expect_replay(call().await, &json(&*first));
    first.into_inner()
}

/// Calls a handler with `failures = "record"` twice, and asserts that the second call returns the recorded failure of the
/// first. Returns the first error.
///
/// # Panics
/// Panics if a call succeeds, if the first is a replay, or if the second is none (the failure was not recorded) or its
/// `Debug` text differs.
pub async fn twice_failing<T, E, F>(call: impl Fn() -> F) -> E
where
    F: Future<Output = Result<Replayable<T>, E>>,
    E: Debug,
{
    let failed = |answer: Result<Replayable<T>, Replayable<E>>, which: &str| match answer {
        Ok(_) => panic!("the {which} call succeeded"),
        Err(error) => error,
    };
    let first = failed(call().replayable().await, "first");
    assert!(
        !first.replayed(),
        "the first call returned a recorded failure already: its key was used before"
    );
    let second = failed(call().replayable().await, "second");
    let (first, replayed) = (first.into_inner(), second.replayed());
    let second = second.into_inner();
    assert!(
        replayed,
        "the second call failed anew, with {second:?}: the first failure, {first:?}, was not recorded"
    );
    assert_eq!(
        format!("{first:?}"),
        format!("{second:?}"),
        "the replayed failure is another one"
    );
    first
}

/// Counts an effect before and after some calls, and asserts that it happened once: `count` has risen by 1.
///
/// ```
/// # use idem_runtime::testing::one_effect;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let orders = std::cell::Cell::new(0);
/// let answer = one_effect(async || orders.get(), async {
///     orders.set(orders.get() + 1); // in a test: `twice(|| place_order(..))`
///     "placed"
/// });
/// assert_eq!(answer.await, "placed");
/// # }
/// ```
///
/// # Panics
/// Panics if the count has not risen by 1.
pub async fn one_effect<T>(count: impl AsyncFn() -> i64, calls: impl Future<Output = T>) -> T {
    let before = count().await;
    let answer = calls.await;
    let effects = count().await - before;
    assert!(effects == 1, "{effects} effects in place of one");
    answer
}

/// Returns a call's answer, or panics with its error.
pub(super) fn succeeded<T, E: Debug>(answer: Result<T, E>, which: &str) -> T {
    match answer {
        Ok(answer) => answer,
        Err(error) => panic!("the {which} call failed: {error:?}"),
    }
}

/// Asserts that an answer is a replay with this result.
pub(super) fn expect_replay<T: Serialize, E: Debug>(answer: Result<Replayable<T>, E>, first: &str) {
    let again = succeeded(answer, "repeated");
    assert!(
        again.replayed(),
        "the repeated call ran the body again: no record was found (another key, another table, `key_required = false` without a key, or idempotency is switched off)"
    );
    assert_eq!(first, json(&*again), "the replayed result is another one");
}

/// Returns the JSON of a result, as text.
pub(super) fn json<T: Serialize>(value: &T) -> String {
    match serde_json::to_string(value) {
        Ok(json) => json,
        Err(error) => panic!("a result is no JSON: {error}"),
    }
}
