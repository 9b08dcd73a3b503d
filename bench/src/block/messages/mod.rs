//! Measures messages on PostgreSQL: what an append costs its transaction, how fast a relay is, when an event leaves, what
//! an idle relay sends, and what a claim costs by what is in the table.

mod append;
mod claims;
mod delay;
mod fill;
mod idle;
mod relay;
mod timing;

use idem_messaging::outbox::{OutboxEvent, PublishError, Publisher, schema};

use super::Bench;
use crate::Fault;
use crate::cases::chosen;
use crate::report::Report;
use crate::server::{Database, Server};

/// What is measured. `--row` chooses among these names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Append,
    Relay,
    Delay,
    Idle,
    Claims,
}

const PARTS: [(&str, Part); 5] = [
    ("append", Part::Append),
    ("relay", Part::Relay),
    ("delay", Part::Delay),
    ("idle", Part::Idle),
    ("claim", Part::Claims),
];

pub(super) async fn run(mut bench: Bench<'_>) -> Result<Report, Fault> {
    let mut report = Report::of("messages");
    for (_, part) in chosen(bench.options, &PARTS, |&(name, _)| (name, name)) {
        match part {
            Part::Append => append::run(&mut bench, &mut report).await?,
            Part::Relay => relay::run(&bench, &mut report).await?,
            Part::Delay => delay::run(&mut bench, &mut report).await?,
            Part::Idle => idle::run(&bench, &mut report).await?,
            Part::Claims => claims::run(&mut bench, &mut report).await?,
        }
    }
    Ok(report)
}

/// Creates a database with an outbox.
async fn outbox(server: &Server, name: &str) -> Result<Database, Fault> {
    let database = server.database(&format!("messages_{name}")).await?;
    let mut connection = database.connect().await?;
    schema::create_if_missing(&mut connection).await?;
    Ok(database)
}

/// A publisher that does nothing.
struct Nowhere;

impl Publisher for Nowhere {
    async fn publish(&self, _event: &OutboxEvent) -> Result<(), PublishError> {
        Ok(())
    }
}
