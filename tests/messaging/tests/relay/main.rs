//! The relay: each law is written once and instantiated for each database.

mod concurrent;
mod dead;
mod in_process;
mod in_process_source;
mod lapse;
mod listen;
mod operate;
mod order;
mod publish;
mod run;
#[path = "../subject/mod.rs"]
mod subject;

/// Makes a module of tests for each database.
macro_rules! stamp {
    ($($name:ident: $subject:ident),+ $(,)?) => {
        $(mod $name {
            laws! { crate::subject::$subject:
                publish::{
                    a_committed_event_is_published_and_its_row_deleted,
                    an_event_comes_out_as_it_was_appended,
                    nothing_is_published_of_a_transaction_that_was_rolled_back,
                    an_event_is_held_back_until_its_delivery_time,
                    two_relays_publish_each_event_once,
                }
                order::{
                    events_of_a_partition_leave_in_the_order_of_their_appends,
                    an_event_in_backoff_holds_the_later_ones_of_its_partition_and_no_others,
                    what_waits_is_not_claimed_again_and_leaves_after_the_event_in_front,
                    one_event_of_a_partition_is_under_way_at_a_time,
                    relays_that_fail_at_random_keep_the_order_and_lose_nothing,
                    a_topic_is_a_part_of_the_partition,
                }
                dead::{
                    a_poisonous_event_is_set_aside_after_its_attempts_and_stops_nobody,
                    an_event_refused_for_good_is_set_aside_at_once,
                    a_broker_that_is_down_uses_up_no_attempt,
                    what_cannot_be_published_now_makes_room_for_what_can,
                    a_publisher_that_panics_has_failed_once,
                    an_event_that_kills_its_relays_is_set_aside,
                }
                lapse::{
                    a_relay_that_died_before_it_published_is_followed_by_another,
                    a_relay_that_died_after_it_published_has_its_event_repeated_under_one_id,
                    a_relay_past_its_lease_is_fenced_off,
                    a_failure_that_comes_late_changes_nothing_of_the_next_claim,
                    a_sleeper_begins_no_publication_past_its_lease,
                }
                operate::{
                    a_dead_event_is_published_after_it_was_requeued,
                    the_dead_of_a_topic_are_requeued_together,
                    a_paused_topic_keeps_its_events_and_stops_no_other,
                    a_resumed_topic_keeps_its_order,
                    kept_events_are_published_again_by_range,
                    kept_and_dead_events_are_purged_after_their_retention_only,
                }
                run::{
                    a_relay_in_the_appending_process_is_woken,
                    a_relay_elsewhere_finds_an_event_at_its_interval,
                    a_relay_that_is_stopped_finishes_what_is_under_way_and_gives_back_the_rest,
                }
            }
        })+
    };
}

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

stamp! {
    postgres: Postgres,
    sqlite: Sqlite,
    mysql: MySql,
}

mod concurrent_postgres {
    laws! { crate::subject::Postgres:
        concurrent::{
            the_transaction_that_began_first_and_commits_last_is_not_skipped,
            a_running_relay_publishes_at_once_what_was_appended_before_and_is_committed_late,
            an_event_that_is_not_committed_stops_nobody,
            an_ordered_append_waits_for_the_commit_of_another,
        }
    }
}

mod concurrent_mysql {
    laws! { crate::subject::MySql:
        concurrent::{
            the_transaction_that_began_first_and_commits_last_is_not_skipped,
            a_running_relay_publishes_at_once_what_was_appended_before_and_is_committed_late,
            an_event_that_is_not_committed_stops_nobody,
            an_ordered_append_waits_for_the_commit_of_another,
        }
    }
}
