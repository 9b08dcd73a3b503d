//! One conformance suite of the edge, over TCP: each law is written once and stamped for each framework.
//!
//! It is about the IETF draft (draft-ietf-httpapi-idempotency-key-header-07), RFC 8941 (and RFC 9651, which replaces it) for
//! the header, and RFC 9457 for refusals.

mod answers;
mod failures;
mod forms;
mod hangups;
mod pieces;
mod policy;
mod status;

/// Makes a test of each law for one framework.
macro_rules! laws {
    ($framework:ty: $($group:ident::{ $($law:ident),+ $(,)? })+) => {
        $($(
            #[tokio::test]
            async fn $law() {
                crate::$group::$law::<$framework>().await;
            }
        )+)+
    };
}

/// Makes a module of tests for each framework.
macro_rules! stamp {
    ($($name:ident: $framework:ident),+ $(,)?) => {
        $(mod $name {
            laws! { idem_tests_http::$framework:
                answers::{
                    a_replay_is_the_first_answer_byte_for_byte_and_says_that_it_is_one,
                    a_request_without_a_key_is_refused_where_one_is_required,
                    an_optional_key_may_be_absent_but_not_unacceptable,
                    a_duplicate_of_a_running_request_is_told_when_to_come_back,
                    another_request_under_a_used_key_is_refused_and_shows_nothing_of_the_first,
                    two_tenants_with_one_key_do_not_meet,
                    a_key_that_nobody_said_the_owner_of_is_refused_and_the_reason_is_for_the_log,
                    without_its_store_a_request_is_refused,
                    a_body_that_is_refused_at_the_border_leaves_the_key_fresh,
                }
                forms::{
                    spellings_of_one_key_are_one_key,
                    what_is_no_one_key_is_refused_and_says_which_header_and_why,
                    the_longest_key_is_accepted,
                    under_strict_syntax_only_the_drafts_form_is_a_key,
                    a_key_that_strict_syntax_does_not_read_is_refused_where_none_is_required_too,
                }
                policy::{
                    a_mismatch_may_be_a_conflict,
                    a_mismatch_may_show_where_the_requests_differ_and_shows_no_value,
                    a_key_in_flight_may_be_too_early,
                    a_key_in_flight_may_be_accepted_with_the_url_of_its_status,
                    a_request_that_waits_for_another_key_than_its_own_is_not_accepted,
                    a_status_url_that_no_header_can_hold_is_a_conflict_as_before,
                    types_and_documentation_may_be_ones_own,
                    of_two_policies_the_inner_one_counts,
                }
                failures::{
                    a_replayed_failure_says_that_it_is_one_and_a_first_one_does_not,
                }
                hangups::{
                    a_client_of_http_1_that_goes_away_leaves_one_effect_after_its_retry,
                    a_client_of_http_2_that_goes_away_leaves_one_effect_after_its_retry,
                    a_reset_drops_the_handler_and_leaves_nothing,
                    a_detached_call_outlasts_a_reset_and_its_retry_is_the_replay,
                }
                pieces::{
                    a_body_in_many_pieces_is_one_request,
                    a_body_over_the_servers_limit_leaves_the_key_fresh,
                }
                status::{
                    a_key_is_not_known_then_running_then_done,
                    a_failure_is_failed_and_no_payload_is_shown_unless_the_authoriser_says_so,
                    nobody_is_told_of_a_key_that_is_not_theirs,
                    every_key_is_found_where_the_answer_to_its_duplicate_points,
                    what_names_no_one_key_is_refused,
                    a_strict_policy_holds_for_the_status,
                    a_status_is_read_and_nothing_else,
                }
            }
        })+
    };
}

stamp! {
    actix: OnActix,
    axum: OnAxum,
    tower: OnTower,
}
