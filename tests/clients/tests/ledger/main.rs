//! The ledger of the client, on three databases, against the real service behind a proxy that does harm.

mod answers;
mod crashes;
mod enqueue;
mod gate;
mod schema;
mod subject;
mod waiting;

/// Stamps the laws for each database.
macro_rules! stamp {
    ($($module:ident :: $law:ident),* $(,)?) => {
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $law() {
                crate::$module::$law::<crate::subject::Postgres>().await;
            })*
        }
        mod on_mariadb {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $law() {
                crate::$module::$law::<crate::subject::MySql>().await;
            })*
        }
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $law() {
                crate::$module::$law::<crate::subject::Sqlite>().await;
            })*
        }
    };
}

stamp! {
    answers::a_final_refusal_is_recorded_and_set_aside,
    answers::a_lost_answer_is_asked_for_again_with_the_same_key,
    answers::what_may_pass_is_sent_again_under_every_fault,
    answers::a_request_whose_attempts_are_used_up_is_dead_and_can_be_requeued,
    answers::an_answer_that_the_database_refuses_uses_up_an_attempt,
    answers::a_redirect_to_another_origin_is_dead_and_the_key_stays,
    answers::settled_requests_are_purged_and_open_ones_stay,
    crashes::a_worker_that_died_before_it_recorded_the_answer_is_followed_by_another,
    crashes::a_worker_that_died_after_it_recorded_the_answer_sends_nothing_again,
    crashes::the_first_recorded_answer_stays,
    crashes::two_workers_send_each_request_once,
    enqueue::a_request_is_sent_if_and_only_if_its_transaction_was_committed,
    enqueue::a_key_is_enqueued_once_whatever_became_of_it,
    enqueue::nothing_is_enqueued_where_the_transaction_has_ended,
    schema::the_tables_are_fit_and_a_fault_of_theirs_is_named,
    waiting::a_caller_that_waits_gets_the_answer_and_a_restarted_one_looks_it_up,
    waiting::a_request_that_was_never_committed_is_missing,
}
