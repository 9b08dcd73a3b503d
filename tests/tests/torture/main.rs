//! Short runs of the torture test, and deliberate faults that it must find. A long run is
//! `cargo xtask torture`.

use std::fs;

use idem_tests::torture::Fault;
use idem_tests::torture::arena::{self, Outcome, Plan};
use idem_tests::torture::engine::{Engine, Mariadb, Postgres, Rollback, Sqlite, Tables, Wal};
use idem_tests::torture::history::History;
use idem_tests::torture::laws::violations;
use idem_tests::torture::planted::Planted;
use idem_tests::torture::report::{Report, keep};

async fn outcome<E: Engine>(calls: u64, blows: u64, planted: Planted) -> Outcome {
    let plan = Plan {
        seed: 1,
        calls,
        blows,
        limit: None,
        planted,
        program: env!("CARGO_BIN_EXE_torture").into(),
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

async fn holds<E: Engine>(calls: u64) {
    // Each kind of fault once.
    let expected = E::BLOWS.len() as u64;
    let outcome = outcome::<E>(calls, expected, Planted::Nothing).await;
    let dealt: u64 = outcome.blows.values().sum();
    let broken = outcome.violations.clone();
    if !broken.is_empty() {
        let kept = keep(outcome).expect("the logs can be kept");
        panic!("kept in {}: {broken:#?}", kept.display());
    }
    // The last callers may wait for a message that does not come.
    assert!(
        dealt + 3 >= expected,
        "a nemesis that did nothing proves nothing: {:?}",
        outcome.blows
    );
}

async fn is_caught<E: Engine>(planted: Planted, law: &str) {
    // Without faults: concurrent callers are enough.
    let outcome = outcome::<E>(800, 0, planted).await;
    let broken = outcome.violations.clone();
    assert!(
        broken.iter().any(|violation| violation.law == law),
        "the planted fault is not found by `{law}`: {broken:#?}"
    );
    // Reading the stored files gives the same result.
    let kept = keep(outcome).expect("the logs can be kept");
    let history = History::read_all(&kept).expect("the logs are there");
    let tables = fs::read(kept.join("tables.json")).expect("the tables are there");
    let tables: Tables = serde_json::from_slice(&tables).expect("they are tables");
    assert_eq!(violations(&history, &tables), broken);
    fs::remove_dir_all(kept).expect("it was ours");
}

/// The laws for each engine.
macro_rules! torture {
    ($($name:ident: $engine:ty, $calls:literal;)+) => {
        $(mod $name {
            use super::*;

            #[tokio::test(flavor = "multi_thread")]
            async fn no_nemesis_breaks_the_guarantee() {
                holds::<$engine>($calls).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_claim_without_a_constraint_is_caught() {
                is_caught::<$engine>(Planted::NoConstraint, "a_key_has_one_record_at_most").await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_record_outside_the_transaction_is_caught() {
                is_caught::<$engine>(Planted::RecordAfter, "a_key_has_one_effect_at_most").await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_commit_whose_refusal_is_ignored_is_caught() {
                is_caught::<$engine>(
                    Planted::RefusalIgnored,
                    "nothing_that_commit_refused_remains",
                )
                .await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn an_effect_without_its_lease_is_caught() {
                is_caught::<$engine>(
                    Planted::LeaseIgnored,
                    "under_unknown_an_effect_outside_happens_once_at_most",
                )
                .await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn in_peace_a_full_pool_lapses_no_lease() {
                let outcome = outcome::<$engine>(800, 0, Planted::Nothing).await;
                assert_eq!(outcome.violations, []);
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn heartbeats_that_wait_behind_bodies_are_caught() {
                is_caught::<$engine>(
                    Planted::HeartbeatsShared,
                    "the_lease_of_an_owner_that_lives_does_not_lapse",
                )
                .await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_fast_path_without_the_comparison_is_caught() {
                is_caught::<$engine>(
                    Planted::MismatchSkipped,
                    "an_answer_is_to_the_request_that_was_sent",
                )
                .await;
            }
        })+
    };
}

torture! {
    postgres: Postgres<true>, 1_600;
    postgres_unfused: Postgres<false>, 1_600;
    mariadb: Mariadb, 1_600;
    sqlite_wal: Sqlite<Wal>, 1_600;
    sqlite_rollback: Sqlite<Rollback>, 800;
}
