//! How many events a relay publishes a second, with a publisher that does nothing.

use std::time::Instant;

use idem_messaging::outbox::{Outbox, Relay};

use super::super::stats::position;
use super::{Bench, Nowhere, fill};
use crate::Fault;
use crate::numbers::{Sample, float};
use crate::report::table::whole;
use crate::report::{Report, Table};
use crate::server::Way;

/// Events of one round, and rounds, of a full run.
const EVENTS: usize = 50_000;
const ROUNDS: usize = 5;

pub(super) async fn run(bench: &Bench<'_>, report: &mut Report) -> Result<(), Fault> {
    let database = super::outbox(bench.server, "relay").await?;
    let mut observer = database.connect().await?;
    let events = bench.options.scaled(EVENTS);
    let (mut rate, mut bytes) = (Sample::default(), Sample::default());
    for _ in 0..bench.options.scaled(ROUNDS) {
        fill::events(&database, "idem_outbox", events, fill::READY).await?;
        database.run("VACUUM ANALYZE idem_outbox").await?;
        sqlx::query("CHECKPOINT").execute(&mut observer).await?;
        let before = position(&mut observer).await?;
        let begun = Instant::now();
        let relay = Relay::new(database.pool(Way::DIRECT), &Outbox::new(), Nowhere);
        let swept = relay.sweep().await?;
        let taken = begun.elapsed().as_secs_f64();
        if swept.published != u64::try_from(events)? {
            return Err(format!("{events} events, and the relay did {swept:?}").into());
        }
        rate.push(float(events) / taken);
        bytes.push((position(&mut observer).await? - before) / float(events));
    }
    report.figure("relay/events a second", rate.median());
    report.figure("relay/WAL an event", bytes.median());
    let mut table = Table::new(
        &format!(
            "A relay with a publisher that does nothing, {} events in {} rounds: relay and server share the cores; fsync",
            whole(float(events)),
            rate.count()
        ),
        &["", "median", "least", "most"],
    );
    for (name, sample) in [
        ("events a second", &rate),
        ("bytes of WAL an event, claim and settlement", &bytes),
    ] {
        table.row(vec![
            name.to_owned(),
            whole(sample.median()),
            whole(sample.quantile(0.0)),
            whole(sample.quantile(1.0)),
        ]);
    }
    report.tables.push(table);
    Ok(())
}
