//! The console on real databases: each law is written once and instantiated for each of them. The laws of the pages in a browser
//! run on SQLite.

mod browser;
mod changes;
mod client;
mod events;
mod faults;
mod guard;
mod handlers;
mod numbers;
mod plans;
mod search;
mod shown;
mod story;
mod subject;

/// Makes a module of tests for each database.
macro_rules! stamp {
    ($($name:ident: $subject:ident),+ $(,)?) => {
        $(mod $name {
            laws! { crate::subject::$subject:
                shown::{
                    every_page_shows_what_is_there,
                    a_payload_is_shown_to_whom_may_see_it_only,
                    every_value_is_escaped,
                    replays_and_conflicts_are_shown_where_the_process_is_asked_for_only,
                }
                search::{
                    a_key_is_found_in_every_scope_and_by_its_hash,
                    among_many_scopes_a_key_is_found_by_going_further,
                }
                changes::{
                    an_outcome_is_resolved_in_each_way_with_its_row_of_the_audit_table,
                    a_lapsed_lease_is_released,
                    a_record_that_has_changed_since_is_not_resolved,
                    a_form_without_what_it_needs_changes_nothing,
                    of_two_scopes_only_the_named_one_is_changed,
                }
                events::{
                    a_dead_event_is_shown_and_requeued,
                    a_topic_is_requeued_and_resumed,
                }
                guard::{
                    each_right_is_one_of_its_own,
                    a_form_of_elsewhere_changes_nothing,
                    every_answer_has_the_headers_that_guard_it,
                    nothing_is_read_before_the_authoriser_has_answered,
                    a_nested_console_stays_below_its_path,
                }
                handlers::{
                    handlers_are_shown_where_the_program_asks_for_them_only,
                    a_handler_is_shown_with_its_policy_and_its_schemas,
                    an_operation_that_handlers_share_is_an_alert,
                }
                faults::{
                    a_missing_table_is_a_sentence,
                    a_table_of_another_version_is_a_sentence,
                    without_an_audit_table_records_are_shown_and_none_is_changed,
                    a_database_that_is_down_is_a_sentence,
                    what_is_not_there_is_a_sentence,
                }
                numbers::{
                    few_records_are_counted_by_the_hour,
                    many_records_are_estimated_by_the_hour,
                    leases_and_what_a_purge_has_left_are_counted,
                }
                plans::{
                    no_page_reads_the_whole_table,
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
