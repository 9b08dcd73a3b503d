//! What calls, leases, purges and samples count, on every database.

mod atomic;
mod fixture;
mod leases;
mod recorder;
mod spans;
mod table;

use idem_runtime::IdempotencyKey;
use idem_runtime::metrics::{LATENCY_BUCKETS, describe};
use idem_tests_metrics::Recorded;
use metrics::LocalRecorderGuard;

/// Makes a test of each law for one database. The recorder is the thread's.
macro_rules! laws {
    ($fixture:ty: $($group:ident::{ $($law:ident),+ $(,)? })+) => {
        $($(
            #[tokio::test(flavor = "current_thread")]
            async fn $law() {
                crate::$group::$law::<$fixture>().await;
            }
        )+)+
    };
}

/// Makes a module of tests for each database.
macro_rules! stamp {
    ($($name:ident: $fixture:ident),+ $(,)?) => {
        $(mod $name {
            laws! { crate::fixture::$fixture:
                atomic::{
                    a_first_run_is_started_and_finished_and_each_step_is_timed,
                    a_replay_is_counted_by_kind_and_not_started,
                    a_conflict_is_counted_by_kind,
                    a_call_in_flight_is_counted,
                    a_body_that_runs_because_the_record_has_expired_is_counted,
                    a_call_that_is_dropped_or_panics_is_finished_too,
                }
                leases::{
                    a_lease_is_held_as_long_as_its_body_runs,
                    a_lapsed_lease_is_counted_by_what_became_of_it,
                    a_lease_that_another_attempt_took_is_lost,
                    a_heartbeat_that_comes_late_is_counted,
                    a_takeover_counts_its_sweeps_and_what_it_left,
                }
                table::{
                    a_sweep_counts_what_it_deleted,
                    a_sample_says_what_is_unknown_and_how_far_the_purge_is_behind,
                    what_a_legal_hold_keeps_is_not_behind,
                    a_failed_sample_is_counted_and_the_gauges_stay,
                }
                recorder::{
                    a_recorder_that_comes_later_counts_from_then_on,
                    no_label_holds_a_key_and_all_are_of_a_closed_set,
                }
                spans::{
                    a_call_has_one_span_with_its_steps_below,
                }
            }
        })+
    };
}

stamp! {
    postgres: Postgres,
    sqlite: Sqlite,
    mysql: MySql,
}

/// Makes a recorder that knows the metrics.
fn recorded() -> Recorded {
    let recorded = Recorded::new(&LATENCY_BUCKETS);
    metrics::with_local_recorder(recorded.recorder(), describe);
    recorded
}

/// Records what this thread counts.
fn record(recorded: &Recorded) -> LocalRecorderGuard<'_> {
    metrics::set_default_local_recorder(recorded.recorder())
}

fn key(text: &str) -> IdempotencyKey {
    text.parse::<IdempotencyKey>().expect("a key").global()
}

/// The error of the handlers here.
#[derive(Debug, thiserror::Error)]
enum CallError {
    #[error("{0}")]
    Own(&'static str),
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
}

impl idem_runtime::Failure for CallError {
    fn to_failure(&self) -> Option<idem_runtime::StoredFailure> {
        match self {
            Self::Own(_) => Some(idem_runtime::StoredFailure::new("own", "no")),
            Self::Idempotency(_) => None,
        }
    }

    fn from_failure(_: idem_runtime::StoredFailure) -> Self {
        Self::Own("no")
    }
}
