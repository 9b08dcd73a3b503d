//! The laws of the adapter of RabbitMQ, on a real server.

mod consume;
mod declared;
mod limits;
mod parked;
mod publish;
mod site;

/// Makes a test of each law of a consumer for each database.
macro_rules! stamp {
    ($($name:ident: $database:ty),+ $(,)?) => {
        $(mod $name { laws!($database:
            a_message_delivered_a_hundred_times_to_eight_consumers_has_one_effect,
            a_consumer_killed_between_commit_and_ack_is_answered_from_the_record,
            an_error_of_the_handlers_own_is_tried_again_until_it_is_a_dead_letter,
            a_database_that_is_away_uses_up_no_attempt,
            a_source_that_stops_finishes_what_runs,
        ); })+
    };
}

/// Makes a test of each law for one database.
macro_rules! laws {
    ($database:ty: $($law:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $law() {
                crate::consume::$law::<$database>().await;
            }
        )+
    };
}

stamp! {
    postgres: sqlx::Postgres,
    mysql: sqlx::MySql,
    sqlite: sqlx::Sqlite,
}
