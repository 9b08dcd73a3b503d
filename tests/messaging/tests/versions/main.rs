//! Version guards: each law for each database.

mod competitors;
mod contended;
#[path = "../databases/mod.rs"]
mod databases;
mod guard;
mod input;
mod newer;
mod pages;
mod schema;

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
    guard::{
        the_next_version_is_applied_a_lower_one_stale_and_a_higher_one_a_gap,
        a_gap_leaves_nothing_even_if_it_is_committed,
        a_rollback_takes_the_version_back,
        projections_and_entities_are_told_apart_byte_for_byte,
        versions_are_counted_from_where_the_program_says,
        a_projection_that_was_built_anew_goes_on_from_there,
    }
    competitors::{
        of_any_number_of_competitors_with_one_first_version_one_applies_it,
        of_any_number_of_competitors_with_one_next_version_one_applies_it,
        a_competitor_takes_the_place_of_one_that_rolls_back,
        events_in_any_order_from_any_number_of_consumers_are_applied_once_and_in_order,
        a_row_that_two_have_read_is_changed_by_one_of_them,
    }
    pages::{
        competitors_that_insert_or_find_get_one_row,
        a_maximum_is_the_same_in_any_order_and_however_often,
    }
    newer::{
        a_newer_version_is_applied_whatever_is_missing_and_any_other_is_stale,
        of_competitors_in_any_order_the_newest_remains,
    }
    schema::{
        the_migration_is_fit_and_a_table_that_lets_a_version_through_twice_is_not,
        a_missing_table_is_created_and_one_that_is_there_stays,
    }
    input::{
        bad_input_is_refused_with_field_and_limit_and_writes_nothing,
    }
}
