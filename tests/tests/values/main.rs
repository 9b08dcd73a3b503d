//! Stored values on every database: the first answer equals every replay, a refusal has its whole
//! text, and no printed text shows a key, a request, a result or a failure.

mod events;
mod first;
mod fixture;
mod formats;
mod large;
mod order;
mod quoted;
mod secrets;
mod stored;

/// Makes a test of each law for one database.
macro_rules! laws {
    ($fixture:ty: $($group:ident::{ $($law:ident),+ $(,)? })+) => {
        $($(
            #[tokio::test]
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
                first::{
                    what_json_forgets_is_forgotten_for_the_first_caller_too,
                    what_json_forgets_is_forgotten_in_a_callers_transaction_too,
                    what_json_forgets_is_forgotten_for_the_first_leased_caller_too,
                    a_store_returns_what_it_replays,
                }
                stored::{
                    a_failure_of_128_bits_comes_back_as_itself,
                    a_leased_failure_of_128_bits_comes_back_as_itself,
                    a_failure_that_cannot_come_back_as_itself_is_refused_and_nothing_is_recorded,
                }
                large::{
                    a_result_over_the_limit_is_refused_before_commit_and_a_retry_runs_again,
                    a_failure_over_the_limit_is_refused_and_not_recorded,
                    in_a_callers_transaction_only_the_call_is_rolled_back,
                    a_leased_result_or_failure_over_the_limit_leaves_the_outcome_unknown,
                    the_plain_store_records_nothing_over_its_limit,
                    a_large_result_and_a_large_failure_come_back_under_a_raised_limit,
                    a_large_result_is_not_recorded_if_the_body_has_ended_its_transaction,
                    a_call_after_a_large_one_on_the_same_connection_is_recorded,
                }
                order::{
                    a_mismatch_says_that_the_recorded_request_has_the_same_elements_in_another_order,
                }
                quoted::{
                    no_error_shows_what_the_server_quotes_of_a_record,
                    no_error_of_a_lease_shows_what_the_server_quotes_of_a_record,
                    no_error_of_a_store_shows_what_the_server_quotes_of_a_record,
                }
                events::{
                    the_event_of_a_refusal_has_its_whole_text,
                    the_event_of_a_mismatch_has_the_places_that_differ,
                    the_event_of_a_database_error_has_its_whole_text_and_nothing_quoted,
                    mismatches_are_counted_by_operation,
                }
            }
        })+
    };
}

stamp! {
    postgres: Postgres,
    postgres_unfused: Unfused,
    sqlite: Sqlite,
    mysql: MySql,
}
