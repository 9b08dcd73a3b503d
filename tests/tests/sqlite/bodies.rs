//! Bodies that end or replace their transaction.

use idem_runtime::Error;
use sqlx::sqlite::SqliteTransaction;
use sqlx::{Connection as _, Executor as _};

use crate::payments::{Books, JOURNALS, PayError, insert, key, pay, pay_and, refused};

/// Runs a body that sends this statement after its payment, on a pool of one connection and on the
/// caller's own connection. Returns the number of payments after each, and asserts that there is no
/// record.
async fn ended_by(statement: &'static str) -> [i64; 2] {
    let books = Books::open(JOURNALS[0], 1).await;
    let (key, own) = (key("a"), key("own"));
    let body = async |tx: &mut SqliteTransaction<'_>| {
        tx.execute(statement).await?;
        Ok(())
    };
    let error = refused(pay_and(&books.pool, &key, 5, body).await);
    assert!(matches!(error, Error::TransactionEnded), "{error:?}");
    let (effects, records) = books.count(&key).await;
    assert_eq!(records, 0);

    let mut conn = books.db.connect().await;
    let error = refused(pay_and(&mut conn, &own, 5, body).await);
    assert!(matches!(error, Error::TransactionEnded), "{error:?}");
    let (own_effects, records) = books.count(&own).await;
    assert_eq!(records, 0);

    // Neither connection keeps anything of it.
    assert!(!conn.is_in_transaction());
    for name in ["b", "c"] {
        let key = self::key(name);
        let paid = match name {
            "b" => pay(&books.pool, &key, 5).await,
            _ => pay(&mut conn, &key, 5).await,
        };
        assert!(!paid.expect("paid").replayed());
        assert_eq!(books.count(&key).await, (1, 1));
    }
    [effects, own_effects]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_commits_is_told_so_and_leaves_no_record() {
    assert_eq!(ended_by("COMMIT").await, [1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_rolls_back_is_told_so_and_leaves_nothing() {
    assert_eq!(ended_by("ROLLBACK").await, [0, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_commits_and_begins_anew_is_told_so() {
    assert_eq!(ended_by("COMMIT; BEGIN").await, [1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_rolls_back_and_begins_anew_is_told_so() {
    let statement = "ROLLBACK; BEGIN; INSERT INTO payment (key, cents) VALUES ('a', 1)";
    assert_eq!(ended_by(statement).await, [0, 0]);
}

/// What a body has committed stands, whatever it answers afterwards: its own error would say that nothing does.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_commits_and_then_fails_is_told_so() {
    for statement in ["COMMIT", "COMMIT; BEGIN", "COMMIT; SELECT * FROM nowhere"] {
        let books = Books::open(JOURNALS[0], 1).await;
        let key = key("a");
        let body = async |tx: &mut SqliteTransaction<'_>| {
            tx.execute(statement).await?;
            Err(PayError::Declined(7))
        };
        let error = refused(pay_and(&books.pool, &key, 5, body).await);
        assert!(
            matches!(error, Error::TransactionEnded),
            "{statement}: {error:?}"
        );
        assert_eq!(books.count(&key).await, (1, 0), "{statement}");
        assert!(
            !pay(&books.pool, &self::key("b"), 5)
                .await
                .expect("paid")
                .replayed()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_rolls_the_transaction_back_cannot_be_swallowed() {
    let books = Books::open(JOURNALS[0], 1).await;
    let key = key("a");
    let body = async |tx: &mut SqliteTransaction<'_>| {
        let clash =
            "INSERT OR ROLLBACK INTO payment (id, key, cents) SELECT id, key, cents FROM payment";
        assert!(tx.execute(clash).await.is_err());
        Ok(())
    };
    let error = refused(pay_and(&books.pool, &key, 5, body).await);
    assert!(matches!(error, Error::TransactionEnded), "{error:?}");
    assert_eq!(books.count(&key).await, (0, 0));
    assert!(!pay(&books.pool, &key, 5).await.expect("paid").replayed());
    assert_eq!(books.count(&key).await, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_statement_that_the_body_handles_is_the_bodys_business() {
    let books = Books::open(JOURNALS[0], 1).await;
    let key = key("a");
    let body = async |tx: &mut SqliteTransaction<'_>| {
        let clash = "INSERT INTO payment (id, key, cents) SELECT id, key, cents FROM payment";
        assert!(tx.execute(clash).await.is_err());
        Ok(())
    };
    pay_and(&books.pool, &key, 5, body).await.expect("paid");
    assert_eq!(books.count(&key).await, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_temporary_table_of_the_records_name_is_not_in_the_way() {
    let books = Books::open(JOURNALS[0], 1).await;
    let key = key("a");
    let body = async |tx: &mut SqliteTransaction<'_>| {
        tx.execute("CREATE TEMP TABLE idem_record AS SELECT * FROM main.idem_record")
            .await?;
        Ok(())
    };
    let first = pay_and(&books.pool, &key, 5, body).await.expect("paid");
    // On the connection that has the temporary table, and on one that does not.
    for pool in [&books.pool, &books.db.pool(1)] {
        let again = pay(pool, &key, 5).await.expect("a replay");
        assert!(again.replayed());
        assert_eq!(*again, *first);
    }
    let effects: i64 = sqlx::query_scalar("SELECT count(*) FROM payment")
        .fetch_one(&books.pool)
        .await
        .expect("the table can be read");
    assert_eq!(effects, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_may_use_savepoints_of_its_own() {
    let books = Books::open(JOURNALS[0], 1).await;
    let (key, undone, kept) = (key("a"), key("undone"), key("kept"));
    let body = async |tx: &mut SqliteTransaction<'_>| {
        let mut inner = sqlx::Acquire::begin(&mut *tx).await?;
        insert(&mut inner, &undone, 1).await?;
        inner.rollback().await?;
        let mut inner = sqlx::Acquire::begin(&mut *tx).await?;
        insert(&mut inner, &kept, 1).await?;
        inner.commit().await?;
        Ok(())
    };
    pay_and(&books.pool, &key, 5, body).await.expect("paid");
    assert_eq!(books.count(&key).await, (1, 1));
    assert_eq!(books.count(&undone).await, (0, 0));
    assert_eq!(books.count(&kept).await, (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_body_leaves_nothing_and_a_pool_of_one_usable() {
    for journal in JOURNALS {
        let books = Books::open(journal, 1).await;
        let key = key("a");
        let failed = pay_and(&books.pool, &key, 5, async |_| Err(PayError::OutOfReach)).await;
        assert!(matches!(failed, Err(PayError::OutOfReach)));
        assert_eq!(books.count(&key).await, (0, 0));
        assert!(!pay(&books.pool, &key, 5).await.expect("paid").replayed());
        assert_eq!(books.count(&key).await, (1, 1));
    }
}
