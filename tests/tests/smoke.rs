//! Smoke.
use idem_runtime::{Error, IdempotencyKey, Replayable, idempotent, schema};
use idem_tests::postgres::Database;
use idem_tests::sqlite::{Journal, Sqlite};
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgTransaction;
use sqlx::sqlite::SqliteTransaction;

#[derive(Debug, Serialize)]
struct Pay {
    amount: i64,
}
#[derive(Debug, Serialize, Deserialize, PartialEq)]
struct Paid {
    id: i64,
}
#[derive(Debug, thiserror::Error)]
enum PayError {
    #[error(transparent)]
    Idem(#[from] Error),
    #[error(transparent)]
    Db(#[from] sqlx::Error),
}

#[idempotent(namespace = "payments", retention = "24h")]
async fn pay(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    let id = sqlx::query_scalar("INSERT INTO payment (amount) VALUES ($1) RETURNING id")
        .bind(cmd.amount)
        .fetch_one(&mut **tx)
        .await?;
    Ok(Paid { id })
}

#[idempotent(namespace = "payments", retention = "24h")]
async fn pay_lite(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    let id = sqlx::query_scalar("INSERT INTO payment (amount) VALUES (?1) RETURNING id")
        .bind(cmd.amount)
        .fetch_one(&mut **tx)
        .await?;
    Ok(Paid { id })
}

fn key(text: &str) -> IdempotencyKey {
    text.parse::<IdempotencyKey>().unwrap().global()
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres() {
    let db = Database::fresh().await;
    let pool = db.pool(4);
    let mut conn = pool.acquire().await.unwrap();
    schema::create_if_missing(&mut *conn).await.unwrap();
    schema::create_if_missing(&mut *conn).await.unwrap();
    schema::verify(&mut *conn).await.unwrap();
    sqlx::query("CREATE TABLE payment (id bigserial PRIMARY KEY, amount bigint)")
        .execute(&mut *conn)
        .await
        .unwrap();
    drop(conn);
    let first = pay(&pool, &key("a"), &Pay { amount: 5 }).await.unwrap();
    assert!(!first.replayed());
    let again = pay(&pool, &key("a"), &Pay { amount: 5 }).await.unwrap();
    assert!(again.replayed());
    assert_eq!(*first, *again);
    let other = pay(&pool, &key("a"), &Pay { amount: 6 }).await.unwrap_err();
    assert!(
        matches!(other, PayError::Idem(Error::Mismatch(_))),
        "{other:?}"
    );
    let mut tx = pool.begin().await.unwrap();
    let joined = pay(&mut tx, &key("b"), &Pay { amount: 5 }).await.unwrap();
    assert!(!joined.replayed());
    let joined = pay(&mut tx, &key("b"), &Pay { amount: 5 }).await.unwrap();
    assert!(joined.replayed());
    tx.commit().await.unwrap();
    let mut conn = pool.acquire().await.unwrap();
    assert!(
        pay(&mut conn, &key("b"), &Pay { amount: 5 })
            .await
            .unwrap()
            .replayed()
    );
    assert!(
        !pay(&mut *conn, &key("c"), &Pay { amount: 5 })
            .await
            .unwrap()
            .replayed()
    );
    let pool2 = pool.clone();
    let spawned: Replayable<Paid> =
        tokio::spawn(async move { pay(&pool2, &key("d"), &Pay { amount: 1 }).await })
            .await
            .unwrap()
            .unwrap();
    assert!(!spawned.replayed());
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite() {
    for journal in [Journal::Wal, Journal::Rollback] {
        let db = Sqlite::fresh(journal);
        let pool = db.pool(4);
        let mut conn = pool.acquire().await.unwrap();
        schema::create_if_missing(&mut *conn).await.unwrap();
        schema::create_if_missing(&mut *conn).await.unwrap();
        schema::verify(&mut *conn).await.unwrap();
        sqlx::query("CREATE TABLE payment (id integer PRIMARY KEY, amount bigint)")
            .execute(&mut *conn)
            .await
            .unwrap();
        drop(conn);
        let first = pay_lite(&pool, &key("a"), &Pay { amount: 5 })
            .await
            .unwrap();
        assert!(!first.replayed());
        let again = pay_lite(&pool, &key("a"), &Pay { amount: 5 })
            .await
            .unwrap();
        assert!(again.replayed());
        assert_eq!(*first, *again);
        let other = pay_lite(&pool, &key("a"), &Pay { amount: 6 })
            .await
            .unwrap_err();
        assert!(
            matches!(other, PayError::Idem(Error::Mismatch(_))),
            "{other:?}"
        );
        let mut tx = pool.begin().await.unwrap();
        let joined = pay_lite(&mut tx, &key("b"), &Pay { amount: 5 })
            .await
            .unwrap();
        assert!(!joined.replayed());
        tx.commit().await.unwrap();
        let pool2 = pool.clone();
        let spawned: Replayable<Paid> =
            tokio::spawn(async move { pay_lite(&pool2, &key("d"), &Pay { amount: 1 }).await })
                .await
                .unwrap()
                .unwrap();
        assert!(!spawned.replayed());
    }
}
