//! What `is_transient` says of errors of the databases themselves.

use std::time::Duration;

use idem_runtime::error::is_transient;
use idem_tests::sqlite::{Journal, Sqlite};
use sqlx::{Connection as _, Executor as _, SqliteConnection};

macro_rules! on {
    ($database:ident) => {
        mod $database {
            use super::*;

            #[tokio::test]
            async fn a_deadlock_may_pass_and_a_duplicate_does_not() {
                let database = idem_tests::$database::Database::fresh().await;
                let pool = database.pool(3);
                let tables = [
                    "CREATE TABLE t (id int PRIMARY KEY)",
                    "INSERT INTO t VALUES (1), (2)",
                ];
                for statement in tables {
                    pool.execute(statement).await.expect("made");
                }
                let duplicate = pool.execute("INSERT INTO t VALUES (1)").await;
                assert!(!is_transient(&duplicate.expect_err("a duplicate")));
                let wrong = pool.execute("SELECT nothing FROM t").await;
                assert!(!is_transient(&wrong.expect_err("no such column")));

                let mut one = pool.begin().await.expect("begun");
                let mut other = pool.begin().await.expect("begun");
                let lock = |id: u8| match id {
                    1 => "UPDATE t SET id = id WHERE id = 1",
                    _ => "UPDATE t SET id = id WHERE id = 2",
                };
                one.execute(lock(1)).await.expect("locked");
                other.execute(lock(2)).await.expect("locked");
                let crossed = async {
                    let waits = one.execute(lock(2)).await;
                    one.rollback().await.expect("rolled back");
                    waits
                };
                let back = async {
                    let waits = other.execute(lock(1)).await;
                    other.rollback().await.expect("rolled back");
                    waits
                };
                let (crossed, back) = tokio::join!(crossed, back);
                let victims: Vec<_> = [crossed, back]
                    .into_iter()
                    .filter_map(Result::err)
                    .collect();
                assert_eq!(victims.len(), 1, "{victims:?}");
                assert!(is_transient(&victims[0]), "{victims:?}");
            }
        }
    };
}

on!(postgres);
on!(mysql);

#[tokio::test]
async fn a_busy_file_may_pass_and_a_duplicate_does_not() {
    let database = Sqlite::fresh(Journal::Wal);
    let mut one = database.connect().await;
    let options = database.options().clone().busy_timeout(Duration::ZERO);
    let mut other = SqliteConnection::connect_with(&options)
        .await
        .expect("connected");
    one.execute("CREATE TABLE t (id int PRIMARY KEY)")
        .await
        .expect("made");
    let writer = one.begin_with("BEGIN IMMEDIATE").await.expect("begun");
    let busy = other.execute("INSERT INTO t VALUES (1)").await;
    assert!(is_transient(&busy.expect_err("busy")));
    writer.rollback().await.expect("rolled back");
    other
        .execute("INSERT INTO t VALUES (1)")
        .await
        .expect("inserted");
    let duplicate = other.execute("INSERT INTO t VALUES (1)").await;
    assert!(!is_transient(&duplicate.expect_err("a duplicate")));
}
