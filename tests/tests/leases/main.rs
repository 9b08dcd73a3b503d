//! Leased handlers on real databases: detached runs, heartbeats, the fence, lapses, lost answers,
//! killed processes.

mod abandoned;
mod cost;
mod database;
mod desk;
mod durable;
mod fence;
mod killed;
mod link;
mod message;
mod mysql_link;
mod mysql_server;
mod plans;
mod reads;
mod runs;
mod shutdown;
mod spans;
mod stack;
mod starved;
mod status;
mod takeover;
mod takeover_left;
mod takeover_plans;
mod takeover_versions;
mod unkept;
mod waiters;

/// Makes a test of each law for one database.
macro_rules! laws {
    ($database:ty: $($group:ident::{ $($law:ident),+ $(,)? })+) => {
        $($(
            #[tokio::test(flavor = "multi_thread")]
            async fn $law() {
                crate::$group::$law::<$database>().await;
            }
        )+)+
    };
}

/// Makes a module of tests for each database.
macro_rules! stamp {
    ($($name:ident: $database:ident),+ $(,)?) => {
        $(mod $name {
            laws! { crate::database::$database:
                runs::{
                    a_leased_call_has_its_effect_once_and_replays,
                    a_dropped_caller_does_not_stop_the_run,
                    a_duplicate_of_a_leased_run_is_in_flight_and_a_waiter_replays,
                    of_many_leased_calls_at_once_one_has_the_effect,
                    a_transient_failure_releases_the_key_and_the_next_attempt_counts_on,
                    a_released_key_runs_no_other_request_and_no_other_operation,
                    a_permanent_failure_of_a_leased_run_is_replayed,
                    a_replayed_failure_of_a_leased_run_is_told_from_a_first_one,
                    a_panic_of_a_leased_body_is_its_callers_and_ends_at_once_as_a_lapse_would,
                    a_panic_while_a_result_is_encoded_ends_at_once_as_a_lapse_would,
                    a_body_in_doubt_is_not_run_again_whatever_the_policy,
                    a_leased_call_without_a_key_or_a_scope_is_refused,
                    an_operation_with_a_lease_records_failures_only_if_its_type_says_so,
                }
                status::{
                    an_atomic_call_is_running_until_it_commits_and_then_done,
                    a_lease_is_running_and_its_end_is_told,
                    a_lapsed_lease_is_unknown_and_the_look_changes_nothing,
                    a_key_is_known_in_its_own_scope_and_namespace,
                }
                waiters::{
                    many_waiters_of_a_leased_run_share_one_poller_and_replay,
                    after_each_failure_of_a_leased_run_one_waiter_runs,
                }
                unkept::{
                    a_result_that_cannot_be_kept_is_not_run_again,
                    a_result_or_failure_that_the_database_refuses_is_not_run_again,
                    a_failure_that_would_be_built_again_as_another_is_not_run_again,
                    a_duplicate_that_a_trigger_meets_at_a_claim_is_the_databases_error,
                }
                starved::{
                    a_lease_lives_and_ends_while_other_bodies_hold_every_connection,
                    leases_that_are_due_together_are_extended_together,
                }
                takeover::{
                    an_abandoned_mail_is_sent_by_the_worker_and_its_client_replays,
                    the_worker_gives_the_provider_the_key_that_the_client_gave,
                    a_live_lease_is_never_taken_over,
                    of_many_workers_and_clients_at_once_one_runs_the_body,
                    a_run_that_fails_is_repeated_until_its_attempts_are_used_up,
                    a_lapse_of_the_last_attempt_makes_the_outcome_unknown,
                    after_a_failed_run_a_client_need_not_wait_and_the_worker_does,
                    a_permanent_failure_of_the_worker_is_replayed_to_the_client,
                    a_lease_that_the_worker_has_ended_is_no_attempts_any_more,
                    bodies_that_hang_keep_no_other_operation_waiting,
                    a_run_in_doubt_is_not_repeated,
                    what_the_worker_does_not_handle_is_untouched,
                    a_cancelled_worker_begins_nothing_and_its_runs_go_on,
                    many_abandoned_mails_are_sent_page_by_page_a_few_at_a_time,
                }
                takeover_left::{
                    a_request_that_is_not_the_fingerprints_is_left_for_the_client,
                    a_request_that_does_not_decode_is_left_for_the_client,
                    a_request_whose_decoding_panics_is_left_and_ends_no_worker,
                    a_request_too_large_to_be_kept_is_left_for_the_client,
                    a_worker_claims_nothing_but_the_very_lease_that_it_found,
                }
                takeover_versions::{
                    a_worker_records_the_version_that_the_handler_reads,
                }
                fence::{
                    a_slow_owner_is_told_and_records_nothing_over_the_next_owner,
                    a_late_owner_settles_an_unknown_outcome_itself,
                    after_reconciliation_a_late_owner_has_lost_and_the_settled_result_stands,
                    a_heartbeat_asked_for_is_given_at_once,
                    heartbeats_are_given_by_themselves_while_the_body_runs,
                    tasks_of_a_body_that_has_ended_or_panicked_learn_that_its_lease_is_over,
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
