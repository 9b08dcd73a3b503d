//! Files attached to the connection.

use std::path::PathBuf;
use std::process::Stdio;

use idem_runtime::Error;
use idem_runtime::error::SchemaFault;
use idem_tests::sqlite::Journal;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, SqliteConnection};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use crate::payments::{Books, JOURNALS, key, pay, pay_and, refused};

/// A database, and a second file attached to each connection of a pool.
struct Beside {
    books: Books,
    pool: SqlitePool,
    other: PathBuf,
}

impl Beside {
    async fn open(main: Journal, other: SqliteJournalMode) -> Self {
        let books = Books::open(main, 1).await;
        let path = books.db.dir().join("other.db");
        let mut conn = connect(&path, Some(other)).await;
        conn.execute(sqlx::raw_sql(
            "CREATE TABLE log (n); CREATE TABLE keyed (n PRIMARY KEY) WITHOUT ROWID; \
             INSERT INTO log VALUES (1), (2)",
        ))
        .await
        .expect("made");
        conn.close().await.expect("closed");
        let attach = format!("ATTACH '{}' AS other", path.display());
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .after_connect(move |conn, _| {
                let attach = attach.clone();
                Box::pin(async move { conn.execute(AssertSqlSafe(attach)).await.map(drop) })
            })
            .connect_lazy_with(books.db.options().clone());
        Self {
            books,
            pool,
            other: path,
        }
    }

    async fn logged(&self) -> i64 {
        let mut conn = connect(&self.other, None).await;
        sqlx::query_scalar("SELECT count(*) + (SELECT count(*) FROM keyed) FROM log")
            .fetch_one(&mut conn)
            .await
            .expect("it can be read")
    }
}

async fn connect(path: &PathBuf, journal: Option<SqliteJournalMode>) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true);
    let options = match journal {
        Some(journal) => options.journal_mode(journal),
        None => options,
    };
    SqliteConnection::connect_with(&options)
        .await
        .expect("it can be opened")
}

/// Each of the two writes to the other file.
const WRITES: [&str; 7] = [
    "INSERT INTO other.log VALUES (3)",
    "INSERT INTO other.keyed VALUES (3)",
    "UPDATE other.log SET n = 5",
    "DELETE FROM other.log",
    "CREATE TABLE other.more (n)",
    "PRAGMA other.user_version = 7",
    "SAVEPOINT a; INSERT INTO other.log VALUES (3); RELEASE a",
];

const JOINT: [SqliteJournalMode; 3] = [
    SqliteJournalMode::Delete,
    SqliteJournalMode::Truncate,
    SqliteJournalMode::Persist,
];

#[tokio::test]
async fn a_body_that_writes_to_a_file_whose_commit_is_another_is_refused_and_nothing_is_kept() {
    for (main, other) in [
        (Journal::Wal, SqliteJournalMode::Wal),
        (Journal::Wal, SqliteJournalMode::Delete),
        (Journal::Rollback, SqliteJournalMode::Wal),
    ] {
        for (n, write) in WRITES.into_iter().enumerate() {
            let beside = Beside::open(main, other).await;
            let key = key(&n.to_string());
            for _ in 0..2 {
                let call = pay_and(&beside.pool, &key, 5, async |tx| {
                    tx.execute(sqlx::raw_sql(write)).await?;
                    Ok(())
                });
                let refusal = refused(call.await);
                assert!(
                    matches!(&refusal, Error::Schema(SchemaFault::AttachedWrite { database }) if database == "other"),
                    "{write}: {refusal:?}"
                );
                assert!(!refusal.is_retryable());
            }
            assert_eq!(beside.books.count(&key).await, (0, 0), "{write}");
            assert_eq!(beside.logged().await, 2, "{write}");
            // The connection is usable.
            pay(&beside.pool, &key, 5).await.expect("paid");
        }
    }
}

#[tokio::test]
async fn a_file_that_is_attached_in_the_body_is_one_too() {
    let beside = Beside::open(Journal::Wal, SqliteJournalMode::Wal).await;
    let attach = format!("ATTACH '{}' AS \"la\"\"te\"", beside.other.display());
    let key = key("a");
    let call = pay_and(&beside.books.pool, &key, 5, async |tx| {
        tx.execute(AssertSqlSafe(attach.clone())).await?;
        tx.execute("INSERT INTO \"la\"\"te\".log VALUES (3)")
            .await?;
        Ok(())
    });
    let refusal = refused(call.await);
    assert!(
        matches!(&refusal, Error::Schema(SchemaFault::AttachedWrite { database }) if database == "la\"te"),
        "{refusal:?}"
    );
    assert_eq!(beside.logged().await, 2);
}

#[tokio::test]
async fn a_file_that_is_only_read_is_allowed_whoever_writes_to_it_meanwhile() {
    for main in JOURNALS {
        let beside = Beside::open(main, SqliteJournalMode::Wal).await;
        let read = async |tx: &mut sqlx::SqliteTransaction<'_>| {
            tx.fetch_all("SELECT n FROM other.log").await?;
            Ok(())
        };
        pay_and(&beside.pool, &key("alone"), 5, read)
            .await
            .expect("paid");
        pay(&beside.pool, &key("untouched"), 5).await.expect("paid");
        let mut writer = connect(&beside.other, None).await;
        for begin in ["BEGIN IMMEDIATE", "INSERT INTO log VALUES (3)"] {
            writer.execute(begin).await.expect("nobody else writes");
            pay_and(&beside.pool, &key(begin), 5, read)
                .await
                .expect("paid");
            assert_eq!(beside.books.count(&key(begin)).await, (1, 1));
        }
        writer.execute("COMMIT").await.expect("committed");
        // A record committed since this transaction began to read.
        let between = async |tx: &mut sqlx::SqliteTransaction<'_>| {
            tx.fetch_all("SELECT n FROM other.log").await?;
            connect(&beside.other, None)
                .await
                .execute("INSERT INTO log VALUES (4)")
                .await?;
            Ok(())
        };
        pay_and(&beside.pool, &key("between"), 5, between)
            .await
            .expect("paid");
        let wait: i64 = sqlx::query_scalar("PRAGMA busy_timeout")
            .fetch_one(&beside.pool)
            .await
            .expect("a number");
        assert_eq!(wait, 5000);
    }
}

/// A caller's BEGIN IMMEDIATE locks every file, which looks the same as writes to every file.
#[tokio::test]
async fn in_a_callers_transaction_a_file_is_asked_too() {
    for (begin, refuses) in [("BEGIN", false), ("BEGIN IMMEDIATE", true)] {
        let beside = Beside::open(Journal::Wal, SqliteJournalMode::Wal).await;
        let mut tx = beside.pool.begin_with(begin).await.expect("begun");
        let answer = pay(&mut tx, &key("a"), 5).await;
        assert_eq!(answer.is_err(), refuses, "{begin}: {answer:?}");
        tx.commit().await.expect("committed");
        let kept = i64::from(!refuses);
        assert_eq!(beside.books.count(&key("a")).await, (kept, kept));
    }
}

#[tokio::test]
async fn files_whose_commit_is_one_may_all_be_written() {
    for other in JOINT {
        let beside = Beside::open(Journal::Rollback, other).await;
        let key = key("a");
        let call = pay_and(&beside.pool, &key, 5, async |tx| {
            tx.execute("INSERT INTO other.log VALUES (3)").await?;
            Ok(())
        });
        call.await.expect("paid");
        assert_eq!(beside.books.count(&key).await, (1, 1));
        assert_eq!(beside.logged().await, 3);
    }
}

#[tokio::test]
async fn what_goes_with_the_connection_may_be_written() {
    let books = Books::open(Journal::Wal, 1).await;
    let key = key("a");
    let call = pay_and(&books.pool, &key, 5, async |tx| {
        tx.execute("CREATE TEMP TABLE t (n)").await?;
        tx.execute("ATTACH ':memory:' AS m").await?;
        tx.execute("CREATE TABLE m.t (n)").await?;
        Ok(())
    });
    call.await.expect("paid");
    assert_eq!(books.count(&key).await, (1, 1));
}

/// A process that is killed after it has its answer, or is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_leaves_no_record_without_its_effect_in_an_attached_file() {
    let beside = Beside::open(Journal::Wal, SqliteJournalMode::Wal).await;
    for mode in ["attached", "attached-hang"] {
        let mut client = Command::new(env!("CARGO_BIN_EXE_sqlite-client"))
            .arg(beside.books.db.path())
            .arg(mode)
            .arg(&beside.other)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the client starts");
        let stdout = client.stdout.take().expect("piped");
        let line = BufReader::new(stdout).lines().next_line().await;
        let said = line.expect("text").expect("a line");
        assert_eq!(
            said,
            if mode == "attached" {
                "refused"
            } else {
                "written"
            }
        );
        client.kill().await.expect("SIGKILL");
        assert_eq!(beside.books.count(&key("one")).await, (0, 0), "{mode}");
        assert_eq!(beside.logged().await, 2, "{mode}");
    }
    let paid = pay(&beside.books.pool, &key("one"), 5).await.expect("paid");
    assert!(!paid.replayed());
}
