//! One contract for every store: each law is written once and instantiated for each database.

mod drivers;
mod dropped;
mod expiry;
mod faults;
mod fence;
mod keys;
mod large;
mod leases;
mod mismatch;
mod outcomes;
mod payloads;
mod purge;
mod reconcile;
mod subject;
mod tables;
mod transactions;
mod versions;

/// Makes a test of each law for one database.
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

/// Makes a module of tests for each database.
macro_rules! stamp {
    ($($name:ident: $subject:ident),+ $(,)?) => {
        $(mod $name {
            laws! { crate::subject::$subject:
                outcomes::{
                    a_fresh_key_is_claimed_and_nobody_sees_it_before_commit,
                    the_result_is_replayed_once_it_is_committed,
                    a_transaction_sees_its_own_record,
                    a_permanent_failure_is_replayed_whole,
                    an_attempt_in_flight_is_answered_at_once,
                    a_key_given_back_is_fresh_for_whoever_asks_next,
                    a_rollback_makes_the_key_fresh,
                    an_operator_reads_what_was_recorded,
                    outcomes_are_told_apart_by_kind_and_keep_claim_and_request_at_home,
                    nothing_printed_shows_a_key_a_request_or_a_result,
                }
                mismatch::{
                    another_request_is_refused_and_changes_nothing,
                    another_operation_is_refused,
                    the_same_request_spelt_otherwise_is_no_mismatch,
                    the_recorded_request_is_shown_only_if_it_was_kept,
                    where_the_request_is_recorded_the_differing_places_are_told,
                    a_recorded_request_that_no_longer_decodes_is_still_a_mismatch,
                    an_expired_record_is_compared_too,
                    a_failure_is_compared_before_it_is_replayed,
                }
                transactions::{
                    a_claim_is_good_only_in_the_transaction_that_made_it,
                    a_claim_is_not_good_in_the_next_transaction,
                    the_same_key_nested_is_refused_and_the_outer_claim_stands,
                    claims_of_one_transaction_are_ended_last_first,
                    in_transaction_refuses_a_connection_without_one,
                    in_connection_answers_replays_without_a_transaction,
                    in_connection_refuses_a_fresh_key_without_a_transaction,
                    a_key_without_a_scope_is_refused_and_nothing_is_written,
                    a_competitors_record_is_never_overwritten,
                }
                dropped::{
                    a_begin_dropped_anywhere_opens_no_transaction,
                    a_begin_dropped_anywhere_in_a_transaction_ends_with_it,
                }
                keys::{
                    keys_are_compared_byte_for_byte,
                    scopes_and_namespaces_are_apart,
                    the_longest_names_are_stored_and_found,
                    one_character_more_is_refused_with_field_and_limit,
                    a_name_is_not_blank_and_has_no_control_characters,
                }
                payloads::{
                    results_come_back_byte_for_byte,
                    a_failure_comes_back_with_every_character,
                    a_result_that_would_not_come_back_is_refused,
                    a_result_that_drifted_is_incompatible_and_never_fresh,
                    a_result_with_something_behind_it_is_incompatible,
                    a_code_that_no_build_knows_is_an_error_and_never_fresh,
                    an_unknown_status_is_not_expired_either,
                    a_lease_is_in_flight_and_an_unknown_outcome_is_not_run,
                }
                versions::{
                    an_old_record_replays_in_new_code,
                    a_new_record_replays_in_old_code,
                }
                expiry::{
                    an_expired_record_replays_by_default,
                    under_strict_expiry_an_expired_record_is_replaced,
                    under_strict_expiry_a_rollback_leaves_the_old_record,
                    under_strict_expiry_a_live_record_replays,
                    under_strict_expiry_a_competitors_newer_record_is_not_overwritten,
                    times_are_those_of_the_databases_clock,
                    a_retention_has_bounds,
                }
                purge::{
                    a_purge_deletes_only_what_has_expired,
                    a_purge_never_deletes_a_lease_or_an_unknown_outcome,
                    a_purge_deletes_the_oldest_first_and_no_more_than_its_limit,
                    a_purge_is_undone_by_a_rollback,
                    a_purged_key_is_fresh,
                }
                tables::{
                    a_record_is_found_in_its_own_table_only,
                    a_table_that_needs_quoting_is_refused,
                }
            }
        })+
    };
}

stamp! {
    postgres: Postgres,
    postgres_18: Postgres18,
    postgres_behind_pgbouncer: PgBouncer,
    sqlite_wal: SqliteWal,
    sqlite_rollback_journal: SqliteRollback,
    mysql: MySql,
}

/// Makes a module of tests for each database that supports leases.
macro_rules! stamp_leases {
    ($($name:ident: $subject:ident),+ $(,)?) => {
        $(mod $name {
            laws! { crate::subject::$subject:
                leases::{
                    a_lease_is_everybodys_to_see_before_its_effect,
                    a_completed_lease_replays,
                    a_lease_that_failed_for_good_replays_its_failure,
                    a_released_lease_is_the_next_callers_and_counts_on,
                    a_released_key_takes_no_other_request_and_no_other_operation,
                    a_heartbeat_gives_the_whole_lease_again,
                    a_live_lease_is_never_taken,
                    a_lapsed_lease_is_taken_over_under_retry,
                    a_lapsed_lease_is_unknown_to_all_once_one_was_told_so,
                    an_atomic_attempt_never_takes_a_lease_over,
                    a_lease_is_not_had_while_an_atomic_attempt_runs,
                    a_lease_is_neither_had_nor_ended_inside_a_transaction,
                    another_request_is_refused_whatever_became_of_the_lease,
                    the_request_is_kept_from_the_claim_on,
                    one_of_many_competitors_gets_the_lease,
                    under_strict_expiry_a_lease_takes_an_expired_records_place,
                    a_purge_deletes_what_was_released_and_no_lease,
                }
                large::{
                    a_request_that_is_too_large_is_kept_as_its_hash_alone_and_never_cut,
                    an_atomic_record_keeps_no_request_that_is_too_large_either,
                }
                fence::{
                    an_owner_writes_only_over_its_own_attempt_and_only_from_where_it_may,
                    a_slow_owner_writes_nothing_over_the_next_owners_record,
                    an_owner_may_complete_after_its_lease_lapsed_if_nobody_took_it,
                    an_end_may_be_repeated_as_it_was_and_no_other_end_counts_as_done,
                    a_write_for_a_record_that_is_gone_is_a_lost_lease,
                }
                reconcile::{
                    an_unknown_outcome_tells_what_a_provider_is_asked_with,
                    an_outcome_found_to_have_happened_replays,
                    an_outcome_found_to_have_failed_replays_its_failure,
                    an_outcome_that_never_happened_is_the_next_callers,
                    a_late_owner_wins_over_the_reconciler_that_looked_before,
                    after_reconciliation_the_late_owner_has_lost,
                    one_of_two_reconcilers_settles,
                    an_outcome_settled_one_way_is_not_settled_another,
                    unknown_outcomes_are_listed_page_by_page_oldest_lapse_first,
                    a_lapse_that_nobody_saw_is_found_by_asking_for_it,
                    unknown_outcomes_are_counted_and_leave_by_time_only_where_somebody_says_so,
                    a_lapse_that_nobody_saw_is_released_where_the_operation_is_safe_to_repeat,
                }
            }
        })+
    };
}

stamp_leases! {
    leases_on_postgres: Postgres,
    leases_on_postgres_18: Postgres18,
    leases_behind_pgbouncer: PgBouncer,
    leases_on_sqlite_wal: SqliteWal,
    leases_on_sqlite_rollback_journal: SqliteRollback,
    leases_on_mysql: MySql,
}
