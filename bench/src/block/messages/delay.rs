//! The time from the COMMIT of an append to the publication, in the appending process and elsewhere.

use std::time::{Duration, Instant};

use idem_messaging::outbox::{Outbox, OutboxEvent, PublishError, Publisher, Relay};
use sqlx::PgPool;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use super::Bench;
use super::append::event;
use crate::Fault;
use crate::numbers::{Sample, float};
use crate::report::table::{time, whole};
use crate::report::{Report, Table};
use crate::server::{Database, Way};

/// Events of a full run: in the same process, and elsewhere, where each takes half of a second.
const HERE: usize = 200;
const ELSEWHERE: usize = 40;

/// The relay's default.
const IDLE: Duration = Duration::from_secs(1);

/// Tells when an event was published.
struct Clock(mpsc::UnboundedSender<Instant>);

impl Publisher for Clock {
    async fn publish(&self, _event: &OutboxEvent) -> Result<(), PublishError> {
        let sent = self.0.send(Instant::now());
        sent.map_err(|_| PublishError::permanent("nobody listens"))
    }
}

pub(super) async fn run(bench: &mut Bench<'_>, report: &mut Report) -> Result<(), Fault> {
    let database = super::outbox(bench.server, "delay").await?;
    let mut table = Table::new(
        "From the answer to COMMIT to the publication; an idle outbox, the relay's defaults",
        &["the relay runs", "events", "median", "quartiles", "most"],
    );
    for (name, count, is_here) in [
        ("in the appending process", HERE, true),
        ("elsewhere", ELSEWHERE, false),
    ] {
        let sample = delays(bench, &database, bench.options.scaled(count), is_here).await?;
        report.sample(&format!("delay/{name}"), &sample);
        table.row(vec![
            name.to_owned(),
            whole(float(sample.count())),
            time(sample.median()),
            format!(
                "{} – {}",
                time(sample.quantile(0.25)),
                time(sample.quantile(0.75))
            ),
            time(sample.quantile(1.0)),
        ]);
    }
    report.tables.push(table);
    Ok(())
}

async fn delays(
    bench: &mut Bench<'_>,
    database: &Database,
    count: usize,
    is_here: bool,
) -> Result<Sample, Fault> {
    let (outbox, pool) = (Outbox::new(), database.pool(Way::DIRECT));
    let (sender, mut published) = mpsc::unbounded_channel();
    // An outbox of its own shares no hint, as in another process.
    let relayed = if is_here {
        outbox.clone()
    } else {
        Outbox::new()
    };
    let relay = Relay::new(pool.clone(), &relayed, Clock(sender)).idle_interval(IDLE);
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(relay.run(stopped));
    let mut sample = Sample::default();
    for _ in 0..count {
        // Not in step with the relay's polls.
        let pause = if is_here { 40 } else { 1_000 };
        sleep(Duration::from_millis(u64::try_from(
            bench.chance.below(pause),
        )?))
        .await;
        append(&pool, &outbox).await?;
        let committed = Instant::now();
        let at = published.recv().await.ok_or("the relay has ended")?;
        // The relay may see the COMMIT before its answer is here.
        sample.push_time(at.saturating_duration_since(committed));
    }
    drop(stop);
    running.await?;
    Ok(sample)
}

async fn append(pool: &PgPool, outbox: &Outbox) -> Result<(), Fault> {
    let mut tx = pool.begin().await?;
    sqlx::query("INSERT INTO payment (account, amount, note) VALUES (1, 1, 'delay')")
        .execute(&mut *tx)
        .await?;
    outbox.append(&mut tx, event()?).await?;
    Ok(tx.commit().await?)
}
