//! The layer that replays whole answers, between tonic's client and server over sockets, with its records on SQLite and on
//! PostgreSQL.

mod codes;
mod compared;
mod gone;
mod keys;
mod odd;
#[path = "../edge/refusals.rs"]
mod refusals;
mod relay;
mod replays;
mod stored;
mod wire;

/// Makes each law a test on each database.
macro_rules! on_both {
    ($($module:ident { $($law:ident,)* })*) => {
        mod on_sqlite {
            $($(
                #[tokio::test]
                async fn $law() {
                    super::$module::$law::<sqlx::Sqlite>().await;
                }
            )*)*
        }
        mod on_postgres {
            $($(
                #[tokio::test]
                async fn $law() {
                    super::$module::$law::<sqlx::Postgres>().await;
                }
            )*)*
        }
    };
}

on_both! {
    codes {
        a_refusal_releases_the_key_whatever_the_operation_says,
        a_code_that_leaves_it_open_is_not_followed_by_a_second_run,
        where_a_lapse_may_be_retried_so_may_a_code_that_leaves_it_open,
        what_the_layer_says_of_a_code_stands_over_the_default,
        the_code_is_that_of_the_trailers_and_the_http_status_is_not_looked_at,
        an_answer_without_a_code_leaves_it_open,
        a_recorded_error_is_marked_where_a_client_reads_it,
    }
    compared {
        other_bytes_and_another_method_are_another_request,
        metadata_are_compared_only_if_they_are_named,
        what_a_client_changes_from_attempt_to_attempt_is_not_compared,
        the_encoding_says_what_the_bytes_mean,
        several_messages_are_one_sequence_of_bytes,
    }
    gone {
        a_duplicate_of_a_running_call_is_told_when_to_come_back,
        a_client_that_cancels_does_not_stop_the_run_and_its_retry_gets_the_answer,
        a_deadline_that_passes_does_not_stop_the_run_and_a_retry_gets_the_answer,
        runs_whose_clients_have_gone_count_and_a_call_over_the_limit_claims_nothing,
    }
    keys {
        a_missing_or_wrong_key_is_refused_as_by_a_handler,
        where_a_key_is_optional_a_call_without_one_passes,
        two_tenants_with_one_key_have_two_effects_and_nobody_is_refused,
        a_method_that_is_not_covered_is_called_each_time,
        the_http_method_leads_past_no_key,
        a_refusal_is_a_head_of_trailers_alone,
        the_owner_of_the_service_changes_its_refusals,
    }
    replays {
        many_retries_have_one_effect_and_get_the_first_answer,
        a_replay_is_head_message_and_trailers_byte_for_byte,
        metadata_that_hold_secrets_are_not_recorded,
        a_method_gets_its_attempt_whose_key_it_gives_to_its_provider,
        whoever_may_not_see_a_recorded_answer_is_not_shown_it,
        a_stream_that_ends_is_replayed_as_a_whole,
        the_method_is_not_asked_to_compress,
        without_its_store_the_method_does_not_run,
    }
    stored {
        an_answer_that_cannot_be_recorded_leaves_the_outcome_unknown,
        a_request_over_the_limit_is_refused_and_nothing_is_done,
    }
}
