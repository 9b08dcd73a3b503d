//! Appending events: each law is written once and instantiated for each database.

mod append;
mod ended;
mod refusals;
mod replays;
mod schema;
#[path = "../subject/mod.rs"]
mod subject;

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
                append::{
                    an_event_is_there_if_and_only_if_its_transaction_was_committed,
                    two_events_of_one_call_with_one_label_are_refused_and_the_transaction_goes_on,
                    scopes_namespaces_operations_keys_and_labels_give_events_of_their_own,
                    an_ordered_append_needs_a_partition_key,
                    an_event_as_large_as_may_be_is_stored_whole,
                }
                ended::{
                    an_event_appended_after_a_bodys_own_commit_does_not_stand_alone,
                    an_event_appended_after_a_raw_commit_of_a_plain_transaction_does_not_stand_alone,
                }
                replays::{
                    a_replay_appends_nothing,
                    a_call_that_failed_leaves_no_event_and_its_repetition_appends_the_same_id,
                }
                schema::{
                    a_table_of_another_name_is_an_outbox_of_its_own,
                    a_table_may_have_the_name_of_a_part_of_a_statement,
                    the_migration_is_fit_and_a_missing_table_is_named,
                    a_table_without_the_index_of_claims_is_unfit,
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

mod postgres_only {
    laws! { crate::subject::Postgres:
        schema::{
            a_sequence_with_a_cache_is_unfit,
            a_table_without_the_index_of_ready_events_is_unfit,
        }
    }
}
