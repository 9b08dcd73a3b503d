//! Codecs on real databases: each law is written once and instantiated for each of them.

mod beginning;
mod compression;
mod desk;
mod keys;
mod leases;
mod logs;
mod moved;
mod names;
mod operators;
mod requests;
mod stores;
mod subject;
mod takeover;

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
                keys::{
                    a_result_is_encrypted_and_replayed,
                    a_failure_is_encrypted_and_replayed,
                    after_a_rotation_old_records_are_read_and_new_ones_are_under_the_new_key,
                    a_record_under_a_key_that_is_gone_is_refused_by_its_id,
                    without_keys_nothing_runs_and_nothing_is_written,
                    a_program_without_the_codec_refuses_the_record,
                }
                moved::{
                    a_payload_of_another_record_is_refused,
                    a_payload_of_another_column_is_refused,
                    a_payload_with_a_byte_changed_is_refused,
                    another_key_with_the_same_id_is_refused,
                }
                requests::{
                    a_request_is_compared_under_a_key,
                    equal_requests_under_two_keys_have_no_equal_fingerprint,
                    under_another_key_of_the_same_id_no_request_is_another_one,
                    a_guessed_request_is_not_confirmed_by_the_table,
                    after_a_rotation_a_request_is_compared_under_the_old_key,
                    a_recorded_request_is_encrypted_and_shown_to_the_codec_alone,
                }
                names::{
                    neither_key_nor_scope_is_in_the_table,
                    an_operator_finds_a_record_by_the_stored_key,
                    the_key_of_the_hashes_does_not_rotate,
                    one_scope_has_one_hash_and_one_key_has_one_in_each_scope,
                }
                compression::{
                    what_is_long_is_compressed_and_what_is_short_is_not,
                    compressed_and_encrypted_comes_back,
                    what_would_be_too_long_is_refused_by_the_limit,
                }
                beginning::{
                    a_record_in_clear_is_refused_unless_it_is_accepted,
                    the_steps_of_a_beginning_read_each_other,
                }
                leases::{
                    a_lease_keeps_its_request_encrypted_from_the_claim_on,
                    waiters_replay_what_is_encrypted,
                    an_unknown_outcome_is_settled_by_a_store_with_the_codec,
                    a_store_without_the_codec_writes_no_result_in_clear,
                }
                takeover::{
                    a_worker_opens_an_encrypted_request_and_its_client_replays,
                    what_no_key_opens_is_left_until_the_key_is_there,
                    a_record_with_a_hash_for_its_key_is_left_for_its_client,
                }
                stores::{
                    a_plain_store_encrypts_and_reads,
                    a_callers_transaction_and_a_purge_know_no_difference,
                }
                operators::{
                    an_operator_sees_the_form_and_the_id_of_the_key,
                    an_operator_resolves_nothing_in_clear,
                }
                logs::{
                    nothing_confidential_is_in_the_table,
                }
            }
        })+
    };
}

stamp! {
    on_postgres: Postgres,
    on_mariadb: MariaDb,
    on_sqlite: Sqlite,
}
