//! Versions that need not be the next one.

use std::sync::Arc;

use idem_messaging::inbox::{Answer, AsAnswer as _};
use idem_messaging::versions::{Advance, VersionError, VersionTransaction, Versions};
use sqlx::{AssertSqlSafe, Transaction};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::contended::Contended;
use crate::databases::Db;
use crate::guard::{OVERVIEW, offer};

/// Offers a version in a transaction of its own.
async fn offer_newer<D: Contended>(db: &Db<D>, versions: Versions, version: i64) -> Advance
where
    for<'t> Transaction<'t, D>: VersionTransaction,
{
    let mut tx = db.pool.begin_with(D::BEGIN).await.expect("a transaction");
    let answer = versions.advance_to(&mut tx, OVERVIEW, "17", version).await;
    tx.commit().await.expect("it commits");
    answer.expect("an answer")
}

pub(crate) async fn a_newer_version_is_applied_whatever_is_missing_and_any_other_is_stale<
    D: Contended,
>()
where
    for<'t> Transaction<'t, D>: VersionTransaction,
{
    let db = D::fresh("").await;
    let stale = |current| Advance::Stale { current };
    for (version, answer) in [
        (3, Advance::Applied),
        (3, stale(3)),
        (1, stale(3)),
        (9, Advance::Applied),
        (8, stale(9)),
        (i64::MAX - 1, Advance::Applied),
        (9, stale(i64::MAX - 1)),
    ] {
        let given = offer_newer(&db, Versions::new(), version).await;
        assert_eq!(given, answer, "version {version}");
    }
    // It is the version that `advance` goes on from.
    let last = offer(&db, Versions::new(), OVERVIEW, "17", i64::MAX).await;
    assert_eq!(last, Advance::Applied);

    let db = D::fresh("").await;
    let from_zero = Versions::counted_from(0);
    assert_eq!(offer_newer(&db, from_zero, 0).await, Advance::Applied);
    assert_eq!(offer_newer(&db, from_zero, 0).await, stale(0));
    let mut tx = db.pool.begin_with(D::BEGIN).await.expect("a transaction");
    let newer = from_zero.advance_to(&mut tx, OVERVIEW, "17", 2).await;
    assert_eq!(newer.expect("an answer"), Advance::Applied);
    let below = Versions::counted_from(3)
        .advance_to(&mut tx, OVERVIEW, "17", 2)
        .await;
    assert!(matches!(below, Err(VersionError::BelowFirst { .. })));
    tx.rollback().await.expect("it rolls back");
    assert_eq!(offer_newer(&db, from_zero, 1).await, Advance::Applied);
}

const TABLE: &str = "CREATE TABLE address (version BIGINT NOT NULL)";
const COMPETITORS: i64 = 10;

/// Offers a version, and has the effect of one that is applied, again while the database answers that somebody else came first.
async fn apply<D: Contended>(db: &Db<D>, version: i64)
where
    for<'t> Transaction<'t, D>: VersionTransaction,
    for<'c> &'c mut D::Connection: sqlx::Executor<'c, Database = D>,
{
    loop {
        let done = async {
            let mut tx = db.pool.begin_with(D::BEGIN).await?;
            let answer = Versions::new()
                .advance_to(&mut tx, OVERVIEW, "17", version)
                .await?;
            if answer == Advance::Applied {
                let text = format!("UPDATE address SET version = {version}");
                let update = sqlx::raw_sql(AssertSqlSafe(text));
                update.execute(&mut *tx).await?;
            }
            tx.commit().await?;
            Ok::<_, VersionError>(())
        };
        match done.await {
            Ok(()) => return,
            Err(error) => assert!(
                matches!(error.as_answer(), Answer::Conflict { .. }),
                "{error}"
            ),
        }
    }
}

pub(crate) async fn of_competitors_in_any_order_the_newest_remains<D: Contended>()
where
    for<'t> Transaction<'t, D>: VersionTransaction,
    for<'q> <D as sqlx::Database>::Arguments: sqlx::IntoArguments<D>,
    for<'c> &'c mut D::Connection: sqlx::Executor<'c, Database = D>,
    for<'r> i64: sqlx::Decode<'r, D> + sqlx::Type<D>,
    usize: sqlx::ColumnIndex<D::Row>,
{
    let db = D::fresh(TABLE).await;
    let mut conn = db.pool.acquire().await.expect("a connection");
    let row = sqlx::raw_sql("INSERT INTO address VALUES (0)");
    row.execute(&mut *conn).await.expect("a row");
    drop(conn);
    let start = Arc::new(Barrier::new(10));
    let mut competitors = JoinSet::new();
    for version in 1..=COMPETITORS {
        let (db, start) = (db.clone(), Arc::clone(&start));
        competitors.spawn(async move {
            start.wait().await;
            apply(&db, version).await;
        });
    }
    competitors.join_all().await;
    let mut conn = db.pool.acquire().await.expect("a connection");
    let last: i64 = sqlx::query_scalar("SELECT version FROM address")
        .fetch_one(&mut *conn)
        .await
        .expect("a number");
    assert_eq!(last, COMPETITORS);
}
