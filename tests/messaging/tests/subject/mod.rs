//! A fresh database with an outbox, and a broker that remembers what it was given.

#![allow(dead_code, unused_imports, reason = "each binary uses a part of it")]

mod broker;
mod mysql;
mod postgres;
mod sqlite;

use std::time::Duration;

use idem_messaging::outbox::{Event, EventBuilder, EventId, Origin, Outbox, OutboxDatabase, Relay};
use idem_runtime::record::Timestamp;
use idem_runtime::{IdempotencyKey, Operation};
use sqlx::Pool;

pub(crate) use self::broker::{Broker, Fate};
pub(crate) use self::mysql::MySql;
pub(crate) use self::postgres::Postgres;
pub(crate) use self::sqlite::Sqlite;

/// What the laws need of a database beside the outbox itself.
pub(crate) trait Subject: Sized + Send + Sync {
    type Db: OutboxDatabase;

    async fn fresh() -> Self;
    fn pool(&self) -> &Pool<Self::Db>;
    /// Runs a statement that is the same on every database.
    async fn run(&self, sql: &str) -> u64;
    /// Returns the integer that a query answers with.
    async fn number(&self, sql: &str) -> i64;
    /// Returns the time of the database's clock.
    async fn now(&self) -> Timestamp;
    /// Returns a time of the database's clock that nothing before this call has, and nothing after it is before.
    async fn moment(&self) -> Timestamp {
        let before = self.now().await;
        loop {
            let now = self.now().await;
            if now > before {
                return now;
            }
        }
    }
    /// Lets every lease and every backoff end: what is pending is due since an hour, whatever a step of the clock.
    async fn pass_time(&self);
    /// Moves the times of settled events into the past.
    async fn age(&self, by: Duration);

    /// Drops an index of the outbox.
    async fn drop_index(&self, name: &str) {
        self.run(&format!("DROP INDEX {name}")).await;
    }

    /// Returns the number of events in a state.
    async fn in_state(&self, state: i16) -> i64 {
        self.number(&format!(
            "SELECT count(*) FROM idem_outbox WHERE state = {state}"
        ))
        .await
    }

    /// Appends an event in a transaction of its own.
    async fn append(&self, outbox: &Outbox, event: Event) -> EventId {
        let mut tx = self.pool().begin().await.expect("a transaction");
        let id = outbox.append(&mut tx, event).await.expect("appended");
        tx.commit().await.expect("committed");
        id
    }

    /// A relay whose times no law waits for: a busy machine is given all the time that it needs.
    fn relay(&self, outbox: &Outbox, broker: &Broker) -> Relay<Self::Db, Broker> {
        Relay::new(self.pool().clone(), outbox, broker.clone())
            .publish_timeout(Duration::from_mins(10))
            .lease(Duration::from_hours(1))
    }
}

/// A database on which several transactions can write at once.
pub(crate) trait ConcurrentSubject: Subject {
    /// Waits until a transaction waits for another.
    async fn until_blocked(&self);
}

pub(crate) const PENDING: i16 = 0;
pub(crate) const PUBLISHED: i16 = 1;
pub(crate) const DEAD: i16 = 2;
pub(crate) const WAITING: i16 = 3;
pub(crate) const HELD: i16 = 4;

pub(crate) const ESCALATE: Operation = Operation::new("cases", "escalate");

pub(crate) fn key(text: &str) -> IdempotencyKey {
    text.parse::<IdempotencyKey>()
        .expect("an acceptable key")
        .global()
}

pub(crate) fn origin(text: &str) -> Origin {
    Origin::of(ESCALATE, &key(text)).expect("an acceptable origin")
}

/// An event of its own call, whose payload is `name`.
pub(crate) fn builder(name: &str) -> EventBuilder {
    Event::builder(&origin(name), "escalated")
        .topic("cases")
        .event_type("com.example.case.escalated.v1")
        .payload("text/plain", name)
}

pub(crate) fn event(name: &str) -> Event {
    builder(name).build().expect("an acceptable event")
}

pub(crate) fn event_of(partition: &str, name: &str) -> Event {
    builder(name)
        .partition_key(partition)
        .build()
        .expect("an acceptable event")
}
