//! The program, run on real databases: each law is written once and instantiated for each of them.

mod archive;
mod audit;
mod changes;
mod clients;
mod doctor;
mod encrypted;
mod events;
mod faults;
mod holds;
mod locks;
mod looks;
mod pages;
mod program;
mod races;
mod removals;
mod serve;
mod story;
mod subject;

/// Makes a module of tests for each database.
macro_rules! stamp {
    ($($name:ident: $subject:ident),+ $(,)?) => {
        $(mod $name {
            laws! { crate::subject::$subject:
                looks::{
                    what_schema_print_prints_is_fit,
                    an_archive_or_a_hold_of_another_version_is_found,
                    records_are_counted_by_namespace_operation_and_status,
                    records_are_listed_by_what_is_asked_for,
                    a_payload_is_shown_only_where_it_is_revealed,
                    a_request_is_explained_against_its_record,
                }
                encrypted::{
                    an_encrypted_payload_is_named_by_its_key,
                    nothing_in_clear_is_written_beside_an_encrypted_payload,
                    what_is_only_compressed_is_shown,
                }
                changes::{
                    an_unknown_outcome_is_resolved_as_completed,
                    an_unknown_outcome_is_resolved_as_failed,
                    a_resolution_has_the_version_that_is_said,
                    an_outcome_that_never_happened_is_the_next_callers,
                    a_lease_that_lapsed_unseen_is_resolved_too,
                    what_is_resolved_is_not_resolved_again,
                    a_lapsed_lease_is_released_and_its_owner_has_lost_it,
                    neither_a_live_lease_nor_a_result_is_released,
                }
                removals::{
                    a_purge_deletes_what_a_dry_run_has_counted,
                    a_scope_is_forgotten_and_no_other,
                    a_scope_with_an_open_outcome_is_not_forgotten,
                    a_call_in_flight_ends_unharmed_while_its_scope_is_forgotten,
                }
                holds::{
                    what_is_on_hold_is_neither_purged_nor_forgotten,
                    under_a_hold_a_strict_record_does_not_expire,
                    after_a_hold_nothing_of_its_scope_is_deleted,
                    without_the_table_no_hold_is_placed,
                }
                archive::{
                    a_purge_archives_what_it_deletes_and_no_payload_unless_asked,
                    a_worker_archives_unknown_outcomes_too_and_ends_the_archives_own_retention,
                    what_the_archive_does_not_take_is_not_deleted,
                    a_function_gets_each_batch_and_an_error_of_it_leaves_the_batch,
                    a_purge_that_stops_half_way_says_what_it_has_deleted,
                }
                races::{
                    an_owner_that_came_back_first_keeps_its_lease,
                    of_two_operators_one_resolves,
                    a_change_whose_audit_row_fails_is_undone,
                }
                audit::{
                    every_change_says_who_did_it_and_why,
                    without_an_audit_table_nothing_is_changed,
                    without_a_terminal_nothing_is_changed_unless_yes_is_said,
                }
                events::{
                    dead_events_are_counted_listed_and_shown_without_their_payload,
                    dead_events_are_requeued_and_published,
                    dead_events_are_dropped_and_no_others,
                    a_paused_topic_is_resumed,
                }
                doctor::{
                    what_waits_for_somebody_is_found,
                    a_missing_table_is_found,
                    a_missing_index_is_found,
                    a_retention_below_the_brokers_window_is_found,
                }
                pages::{
                    the_page_of_the_command_line_shows_what_it_prints,
                    the_runbook_mends_what_it_says,
                }
                serve::{
                    the_pages_are_served_to_operators_of_the_file_only,
                    who_sees_payloads_is_written_to_the_log,
                }
                faults::{
                    a_table_that_is_not_there_is_a_sentence,
                    a_table_of_another_version_is_a_sentence,
                    a_key_without_a_record_is_a_sentence,
                    a_wrong_value_is_a_fault_of_usage,
                }
            }
        })+
    };
}

macro_rules! laws {
    ($subject:ty: $($group:ident::{ $($law:ident),+ $(,)? })+) => {
        $($(
            #[tokio::test]
            async fn $law() {
                crate::$group::$law::<$subject>().await;
            }
        )+)+
    };
}

stamp! {
    on_postgres: Postgres,
    on_mariadb: MariaDb,
    on_sqlite: Sqlite,
}
