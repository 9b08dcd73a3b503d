//! What a relay sends while there is nothing to publish.

use std::time::{Duration, Instant};

use idem_messaging::outbox::{Outbox, Relay};
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::{Bench, Nowhere};
use crate::Fault;
use crate::report::{Report, Table};
use crate::server::Way;

/// BEGIN, settings, claim, COMMIT: one message. A test of the library counts them.
const STATEMENTS: f64 = 4.0;

pub(super) async fn run(bench: &Bench<'_>, report: &mut Report) -> Result<(), Fault> {
    let database = super::outbox(bench.server, "idle").await?;
    let wire = bench.server.wire(Duration::ZERO)?;
    let pool = database.pool(Way {
        wire: Some(&wire),
        ..Way::DIRECT
    });
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(Relay::new(pool, &Outbox::new(), Nowhere).run(stopped));
    // It connects, checks the table, and polls ever more rarely.
    sleep(Duration::from_secs(4)).await;
    let length = Duration::from_secs(if bench.options.quick { 3 } else { 20 });
    let (begun, before) = (Instant::now(), wire.round_trips());
    sleep(length).await;
    let sent = f64::from(u32::try_from(wire.round_trips() - before)?);
    let messages = sent / begun.elapsed().as_secs_f64();
    drop(stop);
    running.await?;
    report.figure("idle/messages a second", messages);
    report.figure("idle/statements a second", messages * STATEMENTS);
    let mut table = Table::new(
        &format!(
            "An idle relay, with its defaults, for {} s",
            length.as_secs()
        ),
        &["", "a second"],
    );
    table.row(vec!["messages".into(), format!("{messages:.2}")]);
    table.row(vec![
        "statements".into(),
        format!("{:.2}", messages * STATEMENTS),
    ]);
    report.tables.push(table);
    Ok(())
}
