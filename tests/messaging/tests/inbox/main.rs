//! Consumers of messages: what identifies a message, what a broker is told, and each law for each database.

#[path = "../databases/mod.rs"]
mod databases;
mod guards;
mod keys;
mod outages;
mod redelivery;
mod service;
mod source;
mod spans;
mod verdicts;
mod windows;

/// Makes a test of each law for each database.
macro_rules! stamp {
    ($($name:ident: $database:ty),+ : $($group:ident::{ $($law:ident),+ $(,)? })+) => {
        stamp!(@each [$($name: $database),+] { $($group::{ $($law),+ })+ });
    };
    (@each [$name:ident: $database:ty $(, $more:ident: $other:ty)*] $laws:tt) => {
        mod $name { stamp!(@laws $database, $laws); }
        $(stamp!(@each [$more: $other] $laws);)*
    };
    (@laws $database:ty, { $($group:ident::{ $($law:ident),+ })+ }) => {
        $($(
            #[tokio::test(flavor = "multi_thread")]
            async fn $law() {
                idem_tests::patience::in_time("the law comes to an end", crate::$group::$law::<$database>()).await;
            }
        )+)+
    };
}

stamp! {
    postgres: sqlx::Postgres, mysql: sqlx::MySql, sqlite: sqlx::Sqlite:
    redelivery::{
        a_message_redelivered_100_times_to_8_consumers_has_one_effect,
        a_consumer_killed_between_commit_and_ack_has_had_its_effect_once,
        a_consumer_killed_before_commit_leaves_nothing_and_the_next_one_runs,
        only_type_and_payload_are_compared,
        an_id_used_for_another_type_or_payload_is_a_dead_letter,
    }
    guards::{
        a_second_consumer_in_one_namespace_is_told_so,
        two_ids_for_one_fact_have_one_effect_by_a_unique_index,
    }
    outages::{
        errors_of_the_body_leave_nothing_and_are_dead_letters_after_the_last_attempt,
        a_retry_that_the_body_asks_for_leaves_no_record,
        a_panic_is_an_error_of_the_body,
        a_recorded_failure_is_acknowledged_by_choice_and_replayed,
        a_database_that_is_away_pauses_and_uses_up_no_attempt,
    }
}
