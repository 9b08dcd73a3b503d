//! Short runs of the torture of messages, and deliberate faults that it must find. A long run is
//! `cargo xtask torture messages`.

use std::fs;
use std::time::Duration;

use idem_tests::torture::Fault;
use idem_tests_messaging::torture::arena::{self, Outcome, Plan};
use idem_tests_messaging::torture::engine::{Engine, Mariadb, Postgres, Sqlite};
use idem_tests_messaging::torture::evidence::Evidence;
use idem_tests_messaging::torture::laws::violations;
use idem_tests_messaging::torture::nemesis::{BLOWS_TO_PUBLICATIONS, Blow};
use idem_tests_messaging::torture::planted::Planted;
use idem_tests_messaging::torture::report::{Report, keep};

async fn outcome<E: Engine>(
    events: u64,
    blows: u64,
    possible: &'static [Blow],
    planted: Planted,
) -> Outcome {
    // A planted fault leaves something that waits for ever.
    let patience = match planted {
        Planted::Nothing => Duration::from_mins(1),
        _ => Duration::from_secs(5),
    };
    let plan = Plan {
        seed: 1,
        events,
        blows,
        possible,
        limit: None,
        patience,
        planted,
        program: env!("CARGO_BIN_EXE_message-torture").into(),
    };
    let outcome: Result<Outcome, Fault> = arena::run::<E>(&plan).await;
    let outcome = outcome.expect("the run itself works");
    let report = Report {
        engine: E::NAME,
        plan: &plan,
        outcome: &outcome,
    };
    println!("{report}");
    outcome
}

async fn is_caught<E: Engine>(blows: u64, possible: &'static [Blow], planted: Planted, law: &str) {
    let outcome = outcome::<E>(600, blows, possible, planted).await;
    let broken = outcome.violations.clone();
    assert!(
        broken.iter().any(|violation| violation.law == law),
        "the planted fault is not found by `{law}`: {broken:#?}"
    );
    // Reading what was kept gives the same result.
    let kept = keep(outcome).expect("it can be kept");
    let evidence = fs::read(kept.join("evidence.json")).expect("it is there");
    let evidence: Evidence = serde_json::from_slice(&evidence).expect("it is evidence");
    assert_eq!(violations(&evidence), broken);
    fs::remove_dir_all(kept).expect("it was ours");
}

async fn holds<E: Engine>(events: u64) {
    // Each kind of fault once.
    let expected = E::BLOWS.len() as u64;
    let outcome = outcome::<E>(events, expected, E::BLOWS, Planted::Nothing).await;
    let dealt: u64 = outcome.blows.values().sum();
    let broken = outcome.violations.clone();
    if !broken.is_empty() {
        let kept = keep(outcome).expect("it can be kept");
        panic!("kept in {}: {broken:#?}", kept.display());
    }
    // The last harms may wait for a message that does not come.
    assert!(
        dealt + 4 >= expected,
        "a nemesis that did nothing proves nothing: {:?}",
        outcome.blows
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_nemesis_breaks_the_guarantee_on_postgres() {
    holds::<Postgres>(1_600).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_nemesis_breaks_the_guarantee_on_mariadb() {
    holds::<Mariadb>(1_600).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_nemesis_breaks_the_guarantee_on_sqlite() {
    holds::<Sqlite>(800).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_before_the_confirmation_is_caught() {
    let planted = Planted::MarkBeforePublish;
    is_caught::<Postgres>(8, &BLOWS_TO_PUBLICATIONS, planted, "an_event_is_published").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_over_the_sequence_is_caught() {
    // Without faults: concurrent callers are enough.
    let planted = Planted::CursorOverSequence;
    is_caught::<Postgres>(0, Postgres::BLOWS, planted, "an_event_is_published").await;
}
