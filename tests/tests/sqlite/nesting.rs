//! Handlers that call handlers.

use idem_runtime::error::SchemaFault;
use idem_runtime::{Error, IdempotencyKey, idempotent, schema};
use idem_tests::sqlite::{Journal, Sqlite};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteTransaction};
use sqlx::{AssertSqlSafe, SqlitePool};

use crate::payments::{
    Books, JOURNALS, Paid, PayError, count, create_tables, insert, key, pay, pay_and, refused,
};

/// Nests a call with the same identity in the body's own transaction, returns its refusal, and then
/// pays without it.
async fn the_same_identity_is_refused(pool: &SqlitePool) {
    let key = key("a");
    let nest = async |tx: &mut SqliteTransaction<'_>| {
        pay(&mut *tx, &key, 5).await?;
        Ok(())
    };
    let error = refused(pay_and(pool, &key, 5, nest).await);
    assert!(matches!(error, Error::NestedSameKey), "{error:?}");
    assert_eq!(count(pool, &key).await, (0, 0));

    // A body that ignores the refusal keeps its transaction, and makes one payment.
    let swallow = async |tx: &mut SqliteTransaction<'_>| {
        let error = refused(pay(&mut *tx, &key, 5).await);
        assert!(matches!(error, Error::NestedSameKey), "{error:?}");
        Ok(())
    };
    let paid = pay_and(pool, &key, 5, swallow).await.expect("paid");
    assert!(!paid.replayed());
    assert_eq!(count(pool, &key).await, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_identity_inside_its_own_body_is_refused() {
    for journal in JOURNALS {
        the_same_identity_is_refused(&Books::open(journal, 1).await.pool).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_identity_inside_its_own_body_is_refused_in_private_memory() {
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect_lazy_with(SqliteConnectOptions::new());
    create_tables(&pool).await;
    the_same_identity_is_refused(&pool).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_identity_in_the_callers_transaction_is_refused() {
    let books = Books::open(JOURNALS[0], 2).await;
    let key = key("a");
    let mut tx = books.pool.begin().await.expect("a transaction");
    let nest = async |tx: &mut SqliteTransaction<'_>| {
        pay(&mut *tx, &key, 5).await?;
        Ok(())
    };
    let error = refused(pay_and(&mut tx, &key, 5, nest).await);
    assert!(matches!(error, Error::NestedSameKey), "{error:?}");
    let paid = pay(&mut tx, &key, 5).await.expect("paid");
    assert!(!paid.replayed());
    tx.commit().await.expect("committed");
    assert_eq!(books.count(&key).await, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_identity_on_another_connection_is_in_flight_and_does_not_hang() {
    for journal in JOURNALS {
        let books = Books::open(journal, 2).await;
        let key = key("a");
        let nest = async |_: &mut SqliteTransaction<'_>| {
            let error = refused(pay(&books.pool, &key, 5).await);
            assert!(matches!(error, Error::InFlight { .. }), "{error:?}");
            Ok(())
        };
        pay_and(&books.pool, &key, 5, nest).await.expect("paid");
        assert_eq!(books.count(&key).await, (1, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_key_is_a_step_of_its_parent() {
    let books = Books::open(JOURNALS[0], 1).await;
    let parent = key("a");
    let child = parent.child("fee").expect("a good label");
    let step = async |tx: &mut SqliteTransaction<'_>| {
        assert!(!pay(&mut *tx, &child, 1).await?.replayed());
        assert!(pay(&mut *tx, &child, 1).await?.replayed());
        Ok(())
    };
    // The nested call is rolled back with its parent.
    let failed = pay_and(&books.pool, &parent, 5, async |tx| {
        step(tx).await?;
        Err(PayError::OutOfReach)
    })
    .await;
    assert!(matches!(failed, Err(PayError::OutOfReach)));
    assert_eq!(books.count(&child).await, (0, 0));

    pay_and(&books.pool, &parent, 5, step).await.expect("paid");
    for key in [&parent, &child] {
        assert_eq!(books.count(key).await, (1, 1));
    }
    assert!(
        pay(&books.pool, &child, 1)
            .await
            .expect("a replay")
            .replayed()
    );
}

/// [`pay`] with a different spelling of its table.
#[idempotent(namespace = "payments", operation = "pay", table = "main.idem_record")]
async fn pay_in_full(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
) -> Result<Paid, PayError> {
    Ok(insert(tx, key, cents).await?)
}

/// The two spellings have different hashes, so the nesting is not detected: the primary key must
/// refuse the outer record. If the table's definition has ON CONFLICT REPLACE in any form, no body
/// runs.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_identity_by_two_spellings_of_its_table_has_no_effect() {
    let arbiter = "PRIMARY KEY (namespace, scope, key)";
    for end in ["", "ON/**/CONFLICT REPLACE", "ON/**/CONFLICT IGNORE"] {
        let db = Sqlite::fresh(Journal::Wal);
        let pool = db.pool(1);
        let table = schema::sqlite().replace(arbiter, &format!("{arbiter} {end}"));
        let payment = "CREATE TABLE payment (id INTEGER PRIMARY KEY, key TEXT, cents INTEGER)";
        for sql in [table.as_str(), payment] {
            sqlx::raw_sql(AssertSqlSafe(sql))
                .execute(&pool)
                .await
                .expect(end);
        }
        let key = key("a");
        let nest = async |tx: &mut SqliteTransaction<'_>| {
            pay_in_full(&mut *tx, &key, 5).await?;
            Ok(())
        };
        let error = refused(pay_and(&pool, &key, 5, nest).await);
        let expected = if end.is_empty() {
            matches!(error, Error::RecordInvisible)
        } else {
            matches!(error, Error::Schema(SchemaFault::NoArbiter { .. }))
        };
        assert!(expected, "{end}: {error:?}");
        assert_eq!(count(&pool, &key).await, (0, 0), "{end}");
    }
}
