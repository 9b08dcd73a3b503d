//! What a relay counts, and what the sampler sees, on every database.

use std::time::Duration;

use idem_messaging::outbox::{
    Event, Origin, Outbox, OutboxDatabase, OutboxEvent, OutboxSampler, PublishError, Publisher,
    Relay, schema,
};
use idem_runtime::{IdempotencyKey, Operation};
use idem_tests::sqlite::{Journal, Sqlite};
use sqlx::{AssertSqlSafe, Executor as _, MySqlPool, PgPool, Pool, SqlitePool};

use crate::{record, recorded};

const CASES: Operation = Operation::new("cases", "escalate");

/// Takes events of topic `taken`, wants those of `later` again, and refuses others for good.
struct Broker;

impl Publisher for Broker {
    async fn publish(&self, event: &OutboxEvent) -> Result<(), PublishError> {
        match event.topic() {
            "taken" => Ok(()),
            "later" => Err(PublishError::retry("not now")),
            _ => Err(PublishError::permanent("never")),
        }
    }
}

trait Subject: Sized {
    type Db: OutboxDatabase;

    async fn fresh() -> Self;
    fn pool(&self) -> &Pool<Self::Db>;
    async fn run(&self, statement: &str);
}

macro_rules! on {
    ($subject:ident { $database:ty, $pool:ty, $db:ty } open: $open:expr) => {
        struct $subject {
            _database: $database,
            pool: $pool,
        }

        impl Subject for $subject {
            type Db = $db;

            async fn fresh() -> Self {
                let database: $database = $open;
                let pool = database.pool(4);
                let mut conn = pool.acquire().await.expect("a connection");
                schema::create_if_missing(&mut *conn).await.expect("made");
                drop(conn);
                Self {
                    _database: database,
                    pool,
                }
            }

            fn pool(&self) -> &$pool {
                &self.pool
            }

            async fn run(&self, statement: &str) {
                let done = self.pool.execute(AssertSqlSafe(statement.to_owned()));
                done.await
                    .unwrap_or_else(|error| panic!("{statement}: {error}"));
            }
        }
    };
}

on! { OnPostgres { idem_tests::postgres::Database, PgPool, sqlx::Postgres } open: idem_tests::postgres::Database::fresh().await }
on! { OnSqlite { Sqlite, SqlitePool, sqlx::Sqlite } open: Sqlite::fresh(Journal::Wal) }
on! { OnMySql { idem_tests::mysql::Database, MySqlPool, sqlx::MySql } open: idem_tests::mysql::Database::fresh().await }

async fn append<S: Subject>(subject: &S, outbox: &Outbox, label: &str, topic: &str) {
    append_for_later(subject, outbox, (label, topic), Duration::ZERO).await;
}

async fn append_for_later<S: Subject>(
    subject: &S,
    outbox: &Outbox,
    (label, topic): (&str, &str),
    after: Duration,
) {
    let key = IdempotencyKey::derive(["outbox", label]).expect("a key");
    let origin = Origin::of(CASES, &key.global()).expect("an origin");
    let event = Event::builder(&origin, label)
        .topic(topic)
        .event_type("com.example.case")
        .payload("text/plain", "x")
        .deliver_after(after)
        .build()
        .expect("an event");
    let mut tx = subject.pool().begin().await.expect("a transaction");
    outbox.append(&mut tx, event).await.expect("appended");
    tx.commit().await.expect("committed");
}

async fn each_attempt_is_counted_and_a_sample_says_what_is_left<S: Subject>(hour_ago: &str) {
    let (subject, recorded) = (S::fresh().await, recorded());
    let _guard = record(&recorded);
    let outbox = Outbox::new();
    let sampler = OutboxSampler::new(subject.pool().clone(), &outbox);
    sampler.sample().await.expect("an empty outbox");
    let (pending, dead, age) = ("outbox_pending", "outbox_dead", "outbox_oldest_age_seconds");
    for gauge in [pending, dead, age] {
        recorded.expect(gauge, &[], 0);
    }
    for (label, topic) in [
        ("a", "taken"),
        ("b", "taken"),
        ("c", "later"),
        ("d", "refused"),
    ] {
        append(&subject, &outbox, label, topic).await;
    }
    subject
        .run(&format!(
            "UPDATE idem_outbox SET appended_at = {hour_ago} WHERE topic = 'later'"
        ))
        .await;
    sampler.sample().await.expect("a sample");
    recorded.expect(pending, &[], 4);
    let relay = Relay::new(subject.pool().clone(), &outbox, Broker)
        .backoff(Duration::from_hours(1), Duration::from_hours(1))
        .publish_timeout(Duration::from_mins(10))
        .lease(Duration::from_hours(1));
    relay.sweep().await.expect("a sweep");
    for (outcome, count) in [("published", 2), ("retried", 1), ("dead", 1)] {
        recorded.expect("outbox_attempts_total", &[("outcome", outcome)], count);
    }
    sampler.sample().await.expect("a sample");
    recorded.expect(pending, &[], 1);
    recorded.expect(dead, &[], 1);
    let old = recorded.sum(age, &[]);
    assert!((3_590.0..7_200.0).contains(&old), "{old}");
    recorded.expect("outbox_sampler_samples_total", &[("outcome", "taken")], 3);
    subject.run("DROP TABLE idem_outbox").await;
    sampler.sample().await.expect_err("there is no table");
    recorded.expect("outbox_sampler_samples_total", &[("outcome", "failed")], 1);
    recorded.expect(pending, &[], 1);
}

async fn an_event_for_later_ages_from_its_time<S: Subject>(hour: &str) {
    let (subject, recorded) = (S::fresh().await, recorded());
    let _guard = record(&recorded);
    let outbox = Outbox::new();
    let sampler = OutboxSampler::new(subject.pool().clone(), &outbox);
    let after = Duration::from_hours(1);
    append_for_later(&subject, &outbox, ("c", "later"), after).await;
    let age = "outbox_oldest_age_seconds";
    sampler.sample().await.expect("a sample");
    recorded.expect(age, &[], 0);
    // An hour passes, and it is due.
    subject
        .run(&format!(
            "UPDATE idem_outbox SET appended_at = appended_at - {hour}, due_at = due_at - {hour}, \
             deliver_at = deliver_at - {hour}"
        ))
        .await;
    let relay = Relay::new(subject.pool().clone(), &outbox, Broker)
        .backoff(Duration::from_hours(1), Duration::from_hours(1));
    // Before its first attempt, and after it.
    for retried in 0..2 {
        sampler.sample().await.expect("a sample");
        let old = recorded.sum(age, &[]);
        assert!((0.0..1_800.0).contains(&old), "{old} after {retried}");
        relay.sweep().await.expect("a sweep");
        recorded.expect("outbox_attempts_total", &[("outcome", "retried")], 1);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn an_event_for_later_ages_from_its_time_on_postgres() {
    an_event_for_later_ages_from_its_time::<OnPostgres>("interval '1 hour'").await;
}

#[tokio::test(flavor = "current_thread")]
async fn an_event_for_later_ages_from_its_time_on_sqlite() {
    an_event_for_later_ages_from_its_time::<OnSqlite>("3600000000").await;
}

#[tokio::test(flavor = "current_thread")]
async fn an_event_for_later_ages_from_its_time_on_mysql() {
    an_event_for_later_ages_from_its_time::<OnMySql>("3600000000").await;
}

#[tokio::test(flavor = "current_thread")]
async fn each_attempt_is_counted_on_postgres() {
    let hour_ago = "clock_timestamp() - interval '1 hour'";
    each_attempt_is_counted_and_a_sample_says_what_is_left::<OnPostgres>(hour_ago).await;
}

#[tokio::test(flavor = "current_thread")]
async fn each_attempt_is_counted_on_sqlite() {
    let hour_ago = "(unixepoch() - 3600) * 1000000";
    each_attempt_is_counted_and_a_sample_says_what_is_left::<OnSqlite>(hour_ago).await;
}

#[tokio::test(flavor = "current_thread")]
async fn each_attempt_is_counted_on_mysql() {
    let hour_ago = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) - 3600000000";
    each_attempt_is_counted_and_a_sample_says_what_is_left::<OnMySql>(hour_ago).await;
}
