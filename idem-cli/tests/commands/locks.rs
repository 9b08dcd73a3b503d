//! Who waits for whom at a legal hold, on the servers that lock rows.

use idem_runtime::operate::Author;
use idem_runtime::{Error, PurgeWorker, Scope};

use crate::story::{completed, count, store};
use crate::subject::{MariaDb, Postgres, Subject};

/// A server that shows who waits for a lock.
trait Server: Subject {
    async fn until_one_waits(&self);
}

impl Server for Postgres {
    async fn until_one_waits(&self) {
        self.database().observer().await.until_blocked(1).await;
    }
}

impl Server for MariaDb {
    async fn until_one_waits(&self) {
        self.database().observer().await.until_blocked(1).await;
    }
}

async fn expired<S: Subject>() -> S {
    let subject = S::fresh().await;
    completed(&subject, "a").await;
    subject.age(25).await;
    subject
}

async fn a_hold_waits_for_a_batch<S: Server>() {
    let subject = expired::<S>().await;
    let mut tx = subject.pool().begin().await.expect("a transaction");
    let store = store();
    let mut bound = store.in_transaction(&mut *tx).expect("a transaction");
    assert_eq!(bound.purge_expired(10).await.expect("purged"), 1);
    let author = Author::new("ada", "case 9").expect("names");
    let (operator, scope) = (subject.operator(), Scope::new("customer-42").expect("one"));
    let hold = operator.add_hold(&scope, &author);
    let end = async {
        subject.until_one_waits().await;
        tx.rollback().await.expect("rolled back");
    };
    let (added, ()) = tokio::join!(hold, end);
    added.expect("held");
    assert_eq!(count(&subject, 1).await, 1);
}

async fn a_batch_waits_for_a_hold<S: Server>(begin: &str)
where
    for<'c> &'c mut <S::Db as sqlx::Database>::Connection: sqlx::Executor<'c, Database = S::Db>,
{
    let subject = expired::<S>().await;
    let mut conn = subject.pool().acquire().await.expect("a connection");
    let now = S::NOW;
    let statements = format!(
        "{begin}; UPDATE idem_hold_lock SET changes = changes + 1; \
         INSERT INTO idem_hold (scope, at, actor, reason) VALUES ('customer-42', {now}, 'ada', 'case 9')"
    );
    let sent = sqlx::raw_sql(sqlx::AssertSqlSafe(statements));
    sqlx::Executor::execute(&mut *conn, sent)
        .await
        .expect("a hold");
    let sweep = PurgeWorker::new(subject.pool().clone());
    let end = async {
        subject.until_one_waits().await;
        let commit = sqlx::raw_sql("COMMIT");
        sqlx::Executor::execute(&mut *conn, commit)
            .await
            .expect("committed");
    };
    let (swept, ()) = tokio::join!(sweep.run_once(), end);
    assert_eq!(swept.expect("swept").rows, 0);
    assert_eq!(count(&subject, 1).await, 1);
}

#[tokio::test]
async fn a_hold_waits_for_the_batch_that_is_running_on_postgres() {
    a_hold_waits_for_a_batch::<Postgres>().await;
}

#[tokio::test]
async fn a_hold_waits_for_the_batch_that_is_running_on_mariadb() {
    a_hold_waits_for_a_batch::<MariaDb>().await;
}

#[tokio::test]
async fn a_batch_waits_for_the_hold_that_is_placed_on_postgres() {
    a_batch_waits_for_a_hold::<Postgres>("BEGIN").await;
}

#[tokio::test]
async fn a_batch_waits_for_the_hold_that_is_placed_on_mariadb() {
    a_batch_waits_for_a_hold::<MariaDb>("START TRANSACTION").await;
}

#[tokio::test]
async fn a_purge_with_an_older_snapshot_than_the_hold_deletes_nothing() {
    let subject = expired::<Postgres>().await;
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ";
    let mut tx = subject.pool().begin_with(begin).await.expect("begun");
    let snapshot = sqlx::query("SELECT count(*) FROM idem_record");
    snapshot.execute(&mut *tx).await.expect("a snapshot");
    let author = Author::new("ada", "case 9").expect("names");
    let scope = Scope::new("customer-42").expect("one");
    subject
        .operator()
        .add_hold(&scope, &author)
        .await
        .expect("held");
    let store = store();
    let mut bound = store.in_transaction(&mut *tx).expect("a transaction");
    let refused = bound
        .purge_expired(10)
        .await
        .expect_err("its snapshot is older");
    assert!(refused.is_retryable(), "{refused:?}");
    tx.rollback().await.expect("rolled back");
    assert_eq!(count(&subject, 1).await, 1);
}

#[tokio::test]
async fn an_account_that_cannot_read_the_holds_deletes_nothing() {
    let subject = expired::<Postgres>().await;
    let role = subject.database().name().to_owned();
    let sql = format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'tiger'; GRANT SELECT, UPDATE, DELETE ON idem_record TO {role}"
    );
    subject.run(&sql).await;
    let options = subject.database().options().clone();
    let options = options.username(&role).password("tiger");
    let pool = sqlx::PgPool::connect_with(options).await.expect("a pool");
    let refused = PurgeWorker::new(pool.clone()).run_once().await;
    let Err(Error::PermissionDenied { table, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(table, "idem_hold_lock");
    assert_eq!(count(&subject, 1).await, 1);
    pool.close().await;
    let sql = format!("DROP OWNED BY {role}; DROP ROLE {role}");
    subject.run(&sql).await;
}

#[tokio::test]
async fn on_mariadb_too_an_account_that_cannot_see_the_holds_deletes_nothing() {
    let subject = expired::<MariaDb>().await;
    let name = subject.database().name().to_owned();
    let sql = format!(
        "CREATE USER {name}@'%' IDENTIFIED BY 'tiger'; GRANT SELECT, UPDATE, DELETE ON {name}.idem_record TO {name}@'%'"
    );
    subject.run(&sql).await;
    let options = subject.database().options().clone();
    let options = options.username(&name).password("tiger");
    let pool = sqlx::MySqlPool::connect_with(options)
        .await
        .expect("a pool");
    let refused = PurgeWorker::new(pool.clone()).run_once().await;
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(count(&subject, 1).await, 1);
    pool.close().await;
    subject.run(&format!("DROP USER {name}@'%'")).await;
}
