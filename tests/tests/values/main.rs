//! Stored values on every database: the first answer equals every replay, a refusal has its whole
//! text, and no printed text shows a key, a request, a result or a failure.

mod events;
mod first;
mod fixture;
mod formats;
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
