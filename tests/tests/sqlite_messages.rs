//! What a call sends to a connection of SQLite.
//!
//! The driver's log is read, which is of the whole process: so this test has its own binary.

use std::fmt::{Debug, Write as _};
use std::sync::Mutex;

use idem_runtime::{Error, IdempotencyKey, idempotent, schema};
use idem_tests::sqlite::{Journal, Sqlite};
use sqlx::sqlite::{SqlitePool, SqliteTransaction};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The texts that the driver has executed. BEGIN and COMMIT are not among them.
static SENT: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Log;

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
        write!(self.0, "{value:?} ").expect("a string takes all");
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "sqlx::query"
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        SENT.lock().expect("no panic").push(text.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[derive(Debug, thiserror::Error)]
enum PayError {
    #[error(transparent)]
    Idempotency(#[from] Error),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

#[idempotent(namespace = "payments")]
async fn pay(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
) -> Result<i64, PayError> {
    Ok(
        sqlx::query_scalar("INSERT INTO payment (key, cents) VALUES (?1, ?2) RETURNING id")
            .bind(key.as_str())
            .bind(cents)
            .fetch_one(&mut **tx)
            .await?,
    )
}

fn key(text: &str) -> IdempotencyKey {
    text.parse::<IdempotencyKey>().expect("a good key").global()
}

/// Pays, and returns the texts that were sent and how many statements the connection keeps then.
async fn sent(pool: &SqlitePool, text: &str) -> (Vec<String>, usize) {
    SENT.lock().expect("no panic").clear();
    pay(pool, &key(text), 5).await.expect("paid");
    // The driver logs a text after its last answer; the next statement comes behind it.
    let mut conn = pool.acquire().await.expect("a connection");
    sqlx::Connection::ping(&mut *conn).await.expect("alive");
    let kept = sqlx::Connection::cached_statements_size(&*conn);
    (SENT.lock().expect("no panic").clone(), kept)
}

#[tokio::test]
async fn a_first_run_sends_three_texts_beside_its_bodys_and_a_replay_one_and_all_are_kept() {
    tracing::subscriber::set_global_default(Log).expect("the only one");
    for journal in [Journal::Wal, Journal::Rollback] {
        let db = Sqlite::fresh(journal);
        let pool = db.pool(1);
        schema::create_if_missing(&mut *pool.acquire().await.expect("a connection"))
            .await
            .expect("the library's table");
        sqlx::raw_sql("CREATE TABLE payment (id INTEGER PRIMARY KEY, key TEXT, cents INTEGER)")
            .execute(&pool)
            .await
            .expect("the business's table");
        // The first call asks for the file and verifies the table.
        sent(&pool, "a").await;
        let (_, kept) = sent(&pool, "b").await;
        for text in ["c", "d"] {
            let (texts, still_kept) = sent(&pool, text).await;
            assert_eq!(texts.len(), 4, "{texts:#?}");
            assert_eq!(still_kept, kept);
            let (texts, still_kept) = sent(&pool, text).await;
            assert_eq!(texts.len(), 1, "{texts:#?}");
            assert_eq!(still_kept, kept);
        }
    }
}
