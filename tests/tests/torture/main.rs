//! Clients in processes of their own, killed as they go; backends terminated; the server crashed and
//! started again. Afterwards the checker reads what every client saw and what is in the tables.
//!
//! A short run is a test. A longer one: `IDEM_TORTURE_CALLS=200000 IDEM_TORTURE_SEED=7 cargo nextest
//! run -p idem-tests --test torture --no-capture nemesis`.

mod nemesis;

use idem_tests::torture::client::Planted;
use nemesis::{Arena, Faults};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

#[tokio::test(flavor = "multi_thread")]
async fn no_nemesis_breaks_the_guarantee() {
    let seed = setting("IDEM_TORTURE_SEED", 1);
    let calls = setting("IDEM_TORTURE_CALLS", 1_600);
    let arena = Arena::open(Planted::Nothing).await;
    let (history, faults) = arena.run(seed, calls, calls / 4, true).await;
    let broken = arena.violations(&history).await;
    println!(
        "seed {seed}: {} calls, {} keys answered, {} declined, {} changed requests refused; {faults}; {} violations",
        history.calls,
        history.successes.len(),
        history.declined.len(),
        history.mismatches,
        broken.len()
    );
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(
        faults.kills > 0 && faults.terminations > 0 && faults.crashes > 0,
        "a nemesis that did nothing proves nothing: {faults}"
    );
    assert!(!history.successes.is_empty() && !history.declined.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_effect_outside_the_transaction_is_caught() {
    let arena = Arena::open(Planted::EffectElsewhere).await;
    let (history, _) = arena.run(2, 400, 40, false).await;
    let broken = arena.violations(&history).await;
    assert!(
        broken.iter().any(|line| line.contains("effects")),
        "the checker has not found the planted fault: {broken:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_constraint_is_caught() {
    let arena = Arena::open(Planted::NoConstraint).await;
    let (history, Faults { .. }) = arena.run(3, 800, 40, false).await;
    let broken = arena.violations(&history).await;
    assert!(
        broken.iter().any(|line| line.contains("two records")),
        "the checker has not found the planted fault: {broken:#?}"
    );
}
