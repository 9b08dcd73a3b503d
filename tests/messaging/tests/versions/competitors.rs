//! What many callers at once are answered.

use std::sync::Arc;

use idem_messaging::inbox::{Answer, AsAnswer as _};
use idem_messaging::versions::{
    Advance, ConcurrentModification, VersionError, VersionTransaction, Versions,
};
use sqlx::Transaction;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::contended::Contended;
use crate::databases::Db;
use crate::guard::{OVERVIEW, offer};

const COMPETITORS: usize = 10;

/// Offers a version, again while the database answers that somebody else came first.
async fn offer_in_the_crowd<D: Contended>(db: &Db<D>, version: i64, keep: bool) -> Advance
where
    for<'t> Transaction<'t, D>: VersionTransaction,
{
    loop {
        let begun = db.pool.begin_with(D::BEGIN).await;
        let answer = match begun {
            Err(error) => Err(VersionError::from(error)),
            Ok(mut tx) => {
                let answer = Versions::new()
                    .advance(&mut tx, OVERVIEW, "17", version)
                    .await;
                let ended = if keep && answer.is_ok() {
                    tx.commit().await
                } else {
                    tx.rollback().await
                };
                ended.map_err(VersionError::from).and(answer)
            }
        };
        match answer {
            Ok(answer) => return answer,
            Err(error) => assert!(
                matches!(error.as_answer(), Answer::Conflict { .. }),
                "{error}"
            ),
        }
    }
}

async fn one_applies<D: Contended>(version: i64)
where
    for<'t> Transaction<'t, D>: VersionTransaction,
{
    let db = D::fresh("").await;
    for earlier in 1..version {
        let applied = offer(&db, Versions::new(), OVERVIEW, "17", earlier).await;
        assert_eq!(applied, Advance::Applied);
    }
    let start = Arc::new(Barrier::new(COMPETITORS));
    let mut competitors = JoinSet::new();
    for _ in 0..COMPETITORS {
        let (db, start) = (db.clone(), Arc::clone(&start));
        competitors.spawn(async move {
            start.wait().await;
            offer_in_the_crowd(&db, version, true).await
        });
    }
    let answers = competitors.join_all().await;
    let applied = answers.iter().filter(|answer| **answer == Advance::Applied);
    assert_eq!(applied.count(), 1, "{answers:?}");
    let stale = Advance::Stale { current: version };
    let others = answers.iter().filter(|answer| **answer == stale);
    assert_eq!(others.count(), COMPETITORS - 1, "{answers:?}");
}

pub(crate) async fn of_any_number_of_competitors_with_one_first_version_one_applies_it<
    D: Contended,
>()
where
    for<'t> Transaction<'t, D>: VersionTransaction,
{
    one_applies::<D>(1).await;
}

pub(crate) async fn of_any_number_of_competitors_with_one_next_version_one_applies_it<
    D: Contended,
>()
where
    for<'t> Transaction<'t, D>: VersionTransaction,
{
    one_applies::<D>(3).await;
}

pub(crate) async fn a_competitor_takes_the_place_of_one_that_rolls_back<D: Contended>()
where
    for<'t> Transaction<'t, D>: VersionTransaction,
{
    let db = D::fresh("").await;
    for version in [1, 2] {
        let mut first = db.pool.begin_with(D::BEGIN).await.expect("a transaction");
        let answer = Versions::new()
            .advance(&mut first, OVERVIEW, "17", version)
            .await;
        assert_eq!(answer.expect("an answer"), Advance::Applied);
        let second = tokio::spawn({
            let db = db.clone();
            async move { offer_in_the_crowd(&db, version, true).await }
        });
        D::until_blocked(&db, 1).await;
        first.rollback().await.expect("it rolls back");
        assert_eq!(second.await.expect("it ends"), Advance::Applied);
    }
}

pub(crate) async fn events_in_any_order_from_any_number_of_consumers_are_applied_once_and_in_order<
    D: Contended,
>()
where
    for<'t> Transaction<'t, D>: VersionTransaction,
{
    const EVENTS: i64 = 12;
    let db = D::fresh("").await;
    let mut consumers = JoinSet::new();
    for consumer in 0..4_i64 {
        let db = db.clone();
        consumers.spawn(async move {
            let mut applied = Vec::new();
            // Each begins elsewhere, and offers what has a gap again.
            let mut left: Vec<i64> = (1..=EVENTS).collect();
            left.rotate_left(usize::try_from(consumer * 3).expect("a small number"));
            let mut turn = consumer;
            while !left.is_empty() {
                let mut again = Vec::new();
                for version in left {
                    turn += 1;
                    let keep = turn % 5 != 0; // some roll back, and come again
                    match offer_in_the_crowd(&db, version, keep).await {
                        Advance::Applied if keep => applied.push(version),
                        Advance::Stale { current } => assert!(current >= version),
                        Advance::Gap { expected, .. } => {
                            assert!(expected < version);
                            again.push(version);
                        }
                        Advance::Applied => again.push(version),
                    }
                }
                left = again;
            }
            assert!(applied.is_sorted(), "{applied:?}");
            applied
        });
    }
    let mut applied: Vec<i64> = consumers.join_all().await.into_iter().flatten().collect();
    applied.sort_unstable();
    assert_eq!(applied, (1..=EVENTS).collect::<Vec<_>>());
}

pub(crate) async fn a_row_that_two_have_read_is_changed_by_one_of_them<D: Contended>()
where
    for<'t> Transaction<'t, D>: VersionTransaction,
    <D as sqlx::Database>::Arguments: sqlx::IntoArguments<D>,
    for<'c> &'c mut D::Connection: sqlx::Executor<'c, Database = D>,
    D::QueryResult: Send,
    RowsAffected: Count<D>,
{
    let tables = "CREATE TABLE cases (id BIGINT PRIMARY KEY, version BIGINT NOT NULL)";
    let db = D::fresh(tables).await;
    let mut conn = db.pool.acquire().await.expect("a connection");
    let insert = sqlx::query("INSERT INTO cases (id, version) VALUES (17, 3)");
    insert.execute(&mut *conn).await.expect("a row");
    let start = Arc::new(Barrier::new(COMPETITORS));
    let mut competitors = JoinSet::new();
    for _ in 0..COMPETITORS {
        let (db, start) = (db.clone(), Arc::clone(&start));
        competitors.spawn(async move {
            start.wait().await;
            let mut tx = db.pool.begin_with(D::BEGIN).await.expect("a transaction");
            let update = "UPDATE cases SET version = version + 1 WHERE id = 17 AND version = 3";
            let done = sqlx::query(update).execute(&mut *tx).await;
            let rows = RowsAffected::count(&done.expect("it is executed"));
            tx.commit().await.expect("it commits");
            ConcurrentModification::check(rows, "case 17", 3)
        });
    }
    let answers = competitors.join_all().await;
    let won = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(won, 1, "{answers:?}");
    let text = answers.into_iter().find_map(Result::err).expect("a loser");
    assert!(text.to_string().starts_with("case 17 is not at version 3"));
}

/// Reads the number of rows that a statement changed, which sqlx's results have no trait for.
pub(crate) struct RowsAffected;

pub(crate) trait Count<D: sqlx::Database> {
    fn count(result: &D::QueryResult) -> u64;
}

macro_rules! counts {
    ($($database:ty),+) => {
        $(impl Count<$database> for RowsAffected {
            fn count(result: &<$database as sqlx::Database>::QueryResult) -> u64 {
                result.rows_affected()
            }
        })+
    };
}

counts!(sqlx::Postgres, sqlx::MySql, sqlx::Sqlite);
