//! A command that tells others, and a consumer that hears of it: `cargo run --example messages`.
//!
//! The event is a row of the command's transaction, a relay publishes it, and the consumer's key is the event's id. Here the
//! command is called twice and its event is published twice, and one person is notified once. The broker is in this process; the
//! publishers and sources of NATS and RabbitMQ take its place without a change of the rest.

use std::error::Error;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use idem_messaging::inbox::{
    Answer, AsAnswer, Consumer, Message, MessageError, MessageKey, Received,
};
use idem_messaging::outbox::{self, Event, InProcess, Origin, Outbox, Relay};
use idem_runtime::handler::DescribeOperation as _;
use idem_runtime::record::Timestamp;
use idem_runtime::{IdempotencyKey, idempotent, schema};
use serde::{Deserialize, Serialize};
use sqlx::SqliteTransaction;
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions};
use tokio::sync::oneshot;

#[derive(Serialize, Deserialize)]
struct Escalated {
    case: i64,
    level: i64,
}

/// One for the process: its clones wake the relay.
static OUTBOX: LazyLock<Outbox> = LazyLock::new(Outbox::new);

#[idempotent(namespace = "cases", operation = "escalate", marker = Escalate)]
async fn escalate(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    case: i64,
) -> Result<Escalated, Box<dyn Error + Send + Sync>> {
    let update = "UPDATE cases SET level = level + 1 WHERE id = ?1 RETURNING level";
    let level = sqlx::query_scalar(update).bind(case);
    let level = level.fetch_one(&mut **tx).await?;
    let escalated = Escalated { case, level };
    let event = Event::builder(&Origin::of(Escalate::OPERATION, key)?, "escalated")
        .topic("cases")
        .event_type("com.example.case.escalated.v1")
        .partition_key(case.to_string())
        .json(&escalated)
        .build()?;
    OUTBOX.append(tx, event).await?;
    Ok(escalated)
}

#[derive(Debug, thiserror::Error)]
enum NotifyError {
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
}

impl AsAnswer for NotifyError {
    fn as_answer(&self) -> Answer {
        match self {
            Self::Message(error) => error.as_answer(),
            Self::Database(error) => error.as_answer(),
            Self::Idempotency(error) => error.as_answer(),
        }
    }
}

#[idempotent(namespace = "notifier", retention = "7d", marker = Notify)]
async fn notify(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    event: &Received<Escalated>,
) -> Result<(), NotifyError> {
    let insert = sqlx::query("INSERT INTO notification (case_id, level) VALUES (?1, ?2)");
    let insert = insert.bind(event.case).bind(event.level);
    insert.execute(&mut **tx).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let pool: SqlitePool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect("sqlite::memory:")
        .await?;
    create_tables(&pool).await?;

    // The consumer.
    let broker = InProcess::new();
    let notifying = pool.clone();
    let handler = move |key: IdempotencyKey, message: Arc<Message>| {
        let pool = notifying.clone();
        async move { notify(&pool, &key, &Received::json(&message)?).await }
    };
    let consumer = Consumer::new(Notify::OPERATION, MessageKey::cloud_event(), handler)?;
    let (stop, stopped) = oneshot::channel::<()>();
    let subscription = broker.subscribe("cases");
    let consuming = tokio::spawn(subscription.run(consumer, async { drop(stopped.await) }));

    // The command, which a client calls twice.
    let key = "escalate-17".parse::<IdempotencyKey>()?.global();
    let first = escalate(&pool, &key, 17).await?;
    let again = escalate(&pool, &key, 17).await?;
    assert!(!first.replayed() && again.replayed());
    println!("case 17 is at level {}", again.level);

    // The relay. A program spawns `relay.run(shutdown)`; this one publishes what is due.
    let relay = Relay::new(pool.clone(), &OUTBOX, broker).keep_for(Duration::from_hours(24));
    let published = relay.sweep().await?.published;
    println!("{published} event is published, and its consumer has acknowledged it");

    // The same event again, as after a lost acknowledgement.
    let (from, to) = (Timestamp::from_micros(0), Timestamp::from_micros(i64::MAX));
    OUTBOX.republish(&pool, from, to).await?;
    assert_eq!(relay.sweep().await?.published, 1);

    drop(stop);
    consuming.await?;
    let count = "SELECT count(*) FROM notification";
    let notified: i64 = sqlx::query_scalar(count).fetch_one(&pool).await?;
    println!("2 calls, 2 publications, {notified} notification.");
    Ok(())
}

async fn create_tables(pool: &SqlitePool) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut conn = pool.acquire().await?;
    schema::create_if_missing(&mut conn).await?;
    outbox::schema::create_if_missing(&mut *conn).await?;
    let tables = "CREATE TABLE cases (id INTEGER PRIMARY KEY, level INTEGER NOT NULL);
        INSERT INTO cases VALUES (17, 1);
        CREATE TABLE notification (case_id INTEGER NOT NULL, level INTEGER NOT NULL)";
    sqlx::raw_sql(tables).execute(&mut *conn).await?;
    Ok(())
}
