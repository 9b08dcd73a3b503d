//! The whole chain, broken on purpose: an outbox, its relay, a real broker, and a consumer whose effects are in the same
//! database.
//!
//! Each law is written once, and instantiated for each database with each broker. Where a server must be restarted, a law
//! may do so once for all databases.

mod chain;
mod crash;
mod halting;
mod killed;
mod link;
#[path = "../nats/site.rs"]
#[allow(dead_code, reason = "each binary uses a part of it")]
mod nats;
mod order;
#[path = "../rabbitmq/site.rs"]
#[allow(dead_code, reason = "each binary uses a part of it")]
mod rabbitmq;
mod restart;
mod site;
#[path = "../subject/mod.rs"]
mod subject;

/// Makes a module of tests for each database with each broker.
macro_rules! stamp {
    ($($name:ident: $subject:ident, $site:ident);+ $(;)?) => {
        $(mod $name {
            laws! { crate::subject::$subject, crate::$site::Site:
                killed::{
                    a_relay_killed_before_it_published_is_followed_by_another_after_its_lease,
                    a_relay_killed_between_publication_and_settlement_repeats_its_event_under_one_id,
                    a_relay_asleep_past_its_lease_is_fenced_off,
                }
                link::{
                    a_link_cut_at_the_confirm_uses_up_no_attempt_and_the_event_has_one_effect,
                }
                order::{
                    an_event_that_waits_for_its_broker_holds_the_next_one_of_its_partition,
                    two_scopes_and_two_namespaces_with_one_key_give_two_events_each,
                }
            }
        })+
    };
}

/// Makes a test of each law for one database with one broker.
macro_rules! laws {
    ($subject:ty, $site:ty: $($group:ident::{ $($law:ident),+ $(,)? })+) => {
        $($(
            #[tokio::test(flavor = "multi_thread")]
            async fn $law() {
                crate::$group::$law::<$subject, $site>().await;
            }
        )+)+
    };
}

stamp! {
    postgres_nats: Postgres, nats;
    postgres_rabbitmq: Postgres, rabbitmq;
    mysql_nats: MySql, nats;
    mysql_rabbitmq: MySql, rabbitmq;
    sqlite_nats: Sqlite, nats;
    sqlite_rabbitmq: Sqlite, rabbitmq;
}

/// The laws that need a server: a link that can be cut, a process that can be killed, transactions that write at once.
macro_rules! stamp_servers {
    ($($name:ident: $subject:ident, $site:ident);+ $(;)?) => {
        $(mod $name {
            laws! { crate::subject::$subject, crate::$site::Site:
                link::{
                    a_link_to_the_database_cut_at_the_settlement_repeats_the_settlement_and_no_event,
                    an_answer_to_the_settlement_that_is_lost_repeats_no_event,
                }
                crash::{
                    a_database_that_crashes_at_the_settlement_and_in_a_body_loses_and_doubles_nothing,
                }
                order::{
                    the_transaction_that_began_first_and_commits_last_is_not_skipped,
                }
            }
        })+
    };
}

stamp_servers! {
    server_postgres_nats: Postgres, nats;
    server_postgres_rabbitmq: Postgres, rabbitmq;
    server_mysql_nats: MySql, nats;
    server_mysql_rabbitmq: MySql, rabbitmq;
}
