//! What one caller after another is answered.

use idem_messaging::versions::{Advance, VersionTransaction, Versions};
use sqlx::Transaction;

use crate::contended::Contended;
use crate::databases::Db;

pub(crate) const OVERVIEW: &str = "case_overview";

/// Offers a version in a transaction of its own, and commits whatever the answer.
pub(crate) async fn offer<D: Contended>(
    db: &Db<D>,
    versions: Versions,
    projection: &str,
    entity: &str,
    version: i64,
) -> Advance
where
    for<'t> Transaction<'t, D>: VersionTransaction,
{
    let mut tx = db.pool.begin_with(D::BEGIN).await.expect("a transaction");
    let answer = versions.advance(&mut tx, projection, entity, version).await;
    tx.commit().await.expect("it commits");
    answer.expect("an answer")
}

pub(crate) async fn the_next_version_is_applied_a_lower_one_stale_and_a_higher_one_a_gap<
    D: Contended,
>()
where
    for<'t> Transaction<'t, D>: VersionTransaction,
{
    let db = D::fresh("").await;
    let versions = Versions::new();
    let (stale, gap) = (
        |current| Advance::Stale { current },
        |expected, current| Advance::Gap { expected, current },
    );
    let offers = [
        (2, gap(1, 0)),
        (1, Advance::Applied),
        (1, stale(1)),
        (3, gap(2, 1)),
        (2, Advance::Applied),
        (1, stale(2)),
        (2, stale(2)),
        (i64::MAX, gap(3, 2)),
        (3, Advance::Applied),
    ];
    for (version, answer) in offers {
        let given = offer(&db, versions, OVERVIEW, "17", version).await;
        assert_eq!(given, answer, "version {version}");
    }
}

pub(crate) async fn a_gap_leaves_nothing_even_if_it_is_committed<D: Contended>()
where
    for<'t> Transaction<'t, D>: VersionTransaction,
    for<'q> <D as sqlx::Database>::Arguments: sqlx::IntoArguments<D>,
    for<'c> &'c mut D::Connection: sqlx::Executor<'c, Database = D>,
    for<'r> i64: sqlx::Decode<'r, D> + sqlx::Type<D>,
    usize: sqlx::ColumnIndex<D::Row>,
{
    let db = D::fresh("").await;
    let versions = Versions::new();
    let gap = offer(&db, versions, OVERVIEW, "17", 9).await;
    let nothing = Advance::Gap {
        expected: 1,
        current: 0,
    };
    assert_eq!(gap, nothing);
    let mut conn = db.pool.acquire().await.expect("a connection");
    let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM idem_version")
        .fetch_one(&mut *conn)
        .await
        .expect("a number");
    assert_eq!(rows, 0);
}

pub(crate) async fn a_rollback_takes_the_version_back<D: Contended>()
where
    for<'t> Transaction<'t, D>: VersionTransaction,
{
    let db = D::fresh("").await;
    let versions = Versions::new();
    for version in [1, 2] {
        let mut tx = db.pool.begin_with(D::BEGIN).await.expect("a transaction");
        let answer = versions.advance(&mut tx, OVERVIEW, "17", version).await;
        assert_eq!(answer.expect("an answer"), Advance::Applied);
        tx.rollback().await.expect("it rolls back");
        let again = offer(&db, versions, OVERVIEW, "17", version).await;
        assert_eq!(again, Advance::Applied);
    }
}

pub(crate) async fn projections_and_entities_are_told_apart_byte_for_byte<D: Contended>()
where
    for<'t> Transaction<'t, D>: VersionTransaction,
{
    let db = D::fresh("").await;
    let versions = Versions::new();
    let names = ["case", "CASE", "case ", "cäse", "ca\u{308}se"];
    for (projection, entity) in names
        .iter()
        .map(|name| (OVERVIEW, *name))
        .chain(names.iter().map(|name| (*name, "17")))
    {
        let first = offer(&db, versions, projection, entity, 1).await;
        assert_eq!(first, Advance::Applied, "{projection:?} {entity:?}");
    }
    let longest = "ü".repeat(255);
    let first = offer(&db, versions, &"ü".repeat(64), &longest, 1).await;
    assert_eq!(first, Advance::Applied);
}

pub(crate) async fn versions_are_counted_from_where_the_program_says<D: Contended>()
where
    for<'t> Transaction<'t, D>: VersionTransaction,
{
    let db = D::fresh("").await;
    for first in [0, 5] {
        let versions = Versions::counted_from(first);
        let entity = first.to_string();
        let gap = offer(&db, versions, OVERVIEW, &entity, first + 1).await;
        let none = Advance::Gap {
            expected: first,
            current: first - 1,
        };
        assert_eq!(gap, none);
        let applied = offer(&db, versions, OVERVIEW, &entity, first).await;
        assert_eq!(applied, Advance::Applied);
        let stale = offer(&db, versions, OVERVIEW, &entity, first).await;
        assert_eq!(stale, Advance::Stale { current: first });
        let next = offer(&db, versions, OVERVIEW, &entity, first + 1).await;
        assert_eq!(next, Advance::Applied);
    }
}

pub(crate) async fn a_projection_that_was_built_anew_goes_on_from_there<D: Contended>()
where
    for<'t> Transaction<'t, D>: VersionTransaction,
{
    let db = D::fresh("").await;
    let versions = Versions::new();
    for to in [40, 7] {
        let mut tx = db.pool.begin_with(D::BEGIN).await.expect("a transaction");
        let reset = versions.reset(&mut tx, OVERVIEW, "17", to).await;
        reset.expect("it is set");
        tx.commit().await.expect("it commits");
        let stale = offer(&db, versions, OVERVIEW, "17", to).await;
        assert_eq!(stale, Advance::Stale { current: to });
        let next = offer(&db, versions, OVERVIEW, "17", to + 1).await;
        assert_eq!(next, Advance::Applied);
    }
}
