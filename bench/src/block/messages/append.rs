//! An append against one INSERT more, in the transaction of a payment.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use idem_messaging::outbox::{Event, Origin, Outbox};
use idem_runtime::Operation;
use sqlx::PgPool;

use super::super::stats::position;
use super::Bench;
use crate::Fault;
use crate::numbers::Sample;
use crate::report::table::{ratio, time, whole};
use crate::report::{Report, Table};
use crate::server::{Path, Way, settled};
use crate::work::{Pay, fresh_key, one};

/// Transactions of each kind, of a full run.
const ROUNDS: usize = 1_500;

/// A table as one writes it by hand: an order, a unique id, and an index of what has not left.
const BY_HAND: &str = "\
CREATE TABLE event_by_hand (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE, topic text NOT NULL,
    partition_key text, event_type text NOT NULL, payload bytea NOT NULL,
    appended_at timestamptz NOT NULL DEFAULT clock_timestamp(), published_at timestamptz);
CREATE INDEX event_by_hand_pending ON event_by_hand (seq) WHERE published_at IS NULL";

const OPERATION: Operation = Operation::new("bench", "escalate");

/// What a transaction writes beside its payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Nothing,
    ByHand,
    Appended,
}

const ALL: [(&str, Written); 3] = [
    ("a payment alone", Written::Nothing),
    ("one INSERT more", Written::ByHand),
    ("an appended event more", Written::Appended),
];

pub(super) async fn run(bench: &mut Bench<'_>, report: &mut Report) -> Result<(), Fault> {
    let database = super::outbox(bench.server, "append").await?;
    database.run(BY_HAND).await?;
    let pool = database.pool(Way::DIRECT);
    let wire = bench.server.wire(Duration::ZERO)?;
    let counted = database.pool(Way {
        path: Path::Fused,
        wire: Some(&wire),
        ..Way::DIRECT
    });
    let mut trips = [0.0; 3];
    for (index, (_, written)) in ALL.iter().enumerate() {
        // The first ones of a connection prepare statements.
        for _ in 0..2 {
            transaction(&counted, *written).await?;
            transaction(&pool, *written).await?;
        }
        settled(&counted).await;
        let before = wire.round_trips();
        transaction(&counted, *written).await?;
        settled(&counted).await;
        trips[index] = f64::from(u32::try_from(wire.round_trips() - before)?);
    }
    let mut observer = database.connect().await?;
    sqlx::query("CHECKPOINT").execute(&mut observer).await?;
    let mut times = [Sample::default(), Sample::default(), Sample::default()];
    let mut bytes = times.clone();
    for _ in 0..bench.options.scaled(ROUNDS) {
        for index in bench.chance.order(ALL.len()) {
            let before = position(&mut observer).await?;
            let begun = Instant::now();
            transaction(&pool, ALL[index].1).await?;
            times[index].push_time(begun.elapsed());
            settled(&pool).await;
            bytes[index].push(position(&mut observer).await? - before);
        }
    }
    let mut table = Table::new(
        "A transaction of a payment, by what else it writes; PostgreSQL, loopback, fsync",
        &[
            "transaction",
            "round trips",
            "median",
            "quartiles",
            "over one INSERT",
            "95 of 100",
            "WAL, median",
        ],
    );
    for (index, (name, _)) in ALL.iter().enumerate() {
        let (sample, plain) = (&times[index], &times[1]);
        let found = sample.median() / plain.median();
        let (low, high) = sample.ratio_within(plain, &mut bench.chance);
        report.sample(&format!("append/{name}"), sample);
        report.figure(&format!("append/{name}/ratio"), found);
        report.figure(&format!("append/{name}/WAL"), bytes[index].median());
        report.figure(&format!("append/{name}/more"), trips[index] - trips[1]);
        table.row(vec![
            (*name).to_owned(),
            // Without the pool's two pings.
            whole(trips[index] - 2.0),
            time(sample.median()),
            format!(
                "{} – {}",
                time(sample.quantile(0.25)),
                time(sample.quantile(0.75))
            ),
            if index == 1 {
                "–".into()
            } else {
                ratio(found)
            },
            if index == 1 {
                "–".into()
            } else {
                format!("{low:.2} – {high:.2}")
            },
            whole(bytes[index].median()),
        ]);
    }
    report.tables.push(table);
    Ok(())
}

async fn transaction(pool: &PgPool, written: Written) -> Result<(), Fault> {
    let outbox = Outbox::new();
    let event = event()?;
    let mut tx = pool.begin().await?;
    one(&mut tx, &Pay::next()).await?;
    match written {
        Written::Nothing => {}
        Written::ByHand => {
            let insert = "INSERT INTO event_by_hand (id, topic, partition_key, event_type, payload) VALUES ($1, $2, $3, $4, $5)";
            sqlx::query(insert)
                .bind(event.id().as_str())
                .bind(event.topic())
                .bind(event.partition_key())
                .bind(event.event_type())
                .bind(event.payload())
                .execute(&mut *tx)
                .await?;
        }
        Written::Appended => {
            outbox.append(&mut tx, event).await?;
        }
    }
    Ok(tx.commit().await?)
}

/// An event of about 100 bytes of JSON, in one of many partitions.
pub(super) fn event() -> Result<Event, Fault> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let case = COUNT.fetch_add(1, Ordering::Relaxed);
    let origin = Origin::of(OPERATION, &fresh_key().global())?;
    let event = Event::builder(&origin, "escalated")
        .topic("cases")
        .event_type("com.example.case.escalated.v1")
        .partition_key(format!("case-{case}"))
        .json(&serde_json::json!({ "case": case, "note": "x".repeat(80) }))
        .build()?;
    Ok(event)
}
