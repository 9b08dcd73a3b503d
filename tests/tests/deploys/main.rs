//! Two builds of one service on one table, as during a deploy. Each is a process of its own.

mod laws;
mod node;
mod operators;
mod rules;

use idem_runtime::schema;
use idem_tests::{mysql, postgres, sqlite};

use laws::{
    a_chain_of_functions_reads_every_version_before, a_new_build_reads_what_the_old_one_recorded,
    a_version_that_is_read_no_more_is_refused_for_good, an_expanding_build_writes_what_both_read,
    an_old_build_refuses_what_a_new_one_recorded_and_runs_nothing,
    an_older_version_holds_what_it_is_given_or_nothing_is_recorded,
    whoever_waits_for_a_newer_build_is_refused_as_well,
};
use operators::an_operator_settles_in_the_version_of_the_handler;
use rules::a_record_is_compared_by_the_rules_of_its_own_fingerprint;

/// Makes a test of each law for each database.
macro_rules! laws {
    ($($law:ident),+ $(,)?) => {
        mod on_postgres {
            $(#[tokio::test]
            async fn $law() {
                let database = super::postgres::Database::fresh().await;
                let mut conn = database.connect().await;
                super::schema::create_if_missing(&mut conn).await.expect("made");
                super::$law(&database.url()).await;
            })+
        }
        mod on_mariadb {
            $(#[tokio::test]
            async fn $law() {
                let database = super::mysql::Database::fresh().await;
                let mut conn = database.connect().await;
                super::schema::create_if_missing(&mut conn).await.expect("made");
                super::$law(&database.url()).await;
            })+
        }
        mod on_sqlite {
            $(#[tokio::test]
            async fn $law() {
                let database = super::sqlite::Sqlite::fresh(super::sqlite::Journal::Wal);
                let mut conn = database.connect().await;
                super::schema::create_if_missing(&mut conn).await.expect("made");
                super::$law(&database.url()).await;
            })+
        }
    };
}

laws! {
    a_new_build_reads_what_the_old_one_recorded,
    an_old_build_refuses_what_a_new_one_recorded_and_runs_nothing,
    an_expanding_build_writes_what_both_read,
    an_older_version_holds_what_it_is_given_or_nothing_is_recorded,
    a_chain_of_functions_reads_every_version_before,
    a_version_that_is_read_no_more_is_refused_for_good,
    whoever_waits_for_a_newer_build_is_refused_as_well,
    a_record_is_compared_by_the_rules_of_its_own_fingerprint,
    an_operator_settles_in_the_version_of_the_handler,
}
