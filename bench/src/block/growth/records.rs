//! The records in the table: from 1,000 to the number of the options, ten times as many each time.

use std::time::{Duration, Instant};

use sqlx::{Connection as _, PgConnection, PgPool};

use super::super::stats::{close, pages, position};
use super::Bench;
use super::fill::{self, Order};
use crate::Fault;
use crate::deed::{Deed, Stage};
use crate::numbers::{Sample, float};
use crate::processor::Processor;
use crate::report::table::{ratio, time, whole};
use crate::report::{Report, Table};
use crate::server::{Database, Way, settled};

/// The calls of one slice. The server's counters are read around it.
const SLICE: usize = 10;

/// Slices of each case, of a full run.
const ROUNDS: usize = 100;

/// The size with which the others are compared.
const BASE: usize = 10_000;

/// A table of one size. All of them are measured in turn.
struct Filled {
    order: Order,
    records: usize,
    database: Database,
    stage: Stage,
    observer: PgConnection,
    pool: PgPool,
    pages: f64,
    plain: Cost,
    first: Cost,
}

/// The cost of a call: its time and the server's processor time in microseconds, and bytes of WAL.
#[derive(Debug, Default)]
struct Cost {
    time: Sample,
    server: Sample,
    wal: Sample,
}

pub(super) async fn run(bench: &mut Bench<'_>, report: &mut Report) -> Result<(), Fault> {
    let mut tables = Vec::new();
    for order in Order::BOTH {
        let mut records = 1_000;
        while records <= bench.options.records {
            let begun = Instant::now();
            tables.push(Filled::new(bench, order, records).await?);
            println!(
                "{} records, {}: filled in {:.0} s",
                whole(float(records)),
                order.name(),
                begun.elapsed().as_secs_f64()
            );
            records *= 10;
        }
    }
    // The first change of a page after a checkpoint writes the whole page.
    sqlx::query("CHECKPOINT")
        .execute(&mut tables[0].observer)
        .await?;
    let processor = Processor::of(&tables[0].database).await?;
    for _ in 0..bench.options.scaled(ROUNDS) {
        for index in bench.chance.order(2 * tables.len()) {
            let table = &mut tables[index / 2];
            table.slice(index % 2 == 1, &processor).await?;
        }
    }
    for table in &mut tables {
        close(&table.pool, &mut table.observer).await?;
        table.pages = pages(&mut table.observer).await? - table.pages;
    }
    for order in Order::BOTH {
        let same = tables.iter().filter(|table| table.order == order);
        report
            .tables
            .push(tabulate(order, &same.collect::<Vec<_>>()));
    }
    for table in tables {
        table.note(report);
        // Gives the disk back.
        table.database.run("TRUNCATE idem_record").await?;
        table.observer.close().await?;
    }
    Ok(())
}

impl Filled {
    async fn new(bench: &Bench<'_>, order: Order, records: usize) -> Result<Self, Fault> {
        let kind = match order {
            Order::InTime => "in_time",
            Order::Random => "random",
        };
        let database = bench
            .server
            .database(&format!("growth_{kind}_{records}"))
            .await?;
        let mut observer = database.connect().await?;
        fill::records(&database, order, records, &mut observer).await?;
        let filled = Self {
            order,
            records,
            pages: pages(&mut observer).await?,
            pool: database.pool(Way::DIRECT),
            database,
            observer,
            stage: Stage::bare(),
            plain: Cost::default(),
            first: Cost::default(),
        };
        // Opens the connection and prepares its statements.
        for deed in [Deed::PlainOne, filled.deed()] {
            filled.call(deed).await?;
        }
        Ok(filled)
    }

    /// Returns the first run whose key is ordered like those of the table.
    fn deed(&self) -> Deed {
        match self.order {
            Order::InTime => Deed::One,
            Order::Random => Deed::OneAtRandom,
        }
    }

    async fn call(&self, deed: Deed) -> Result<Duration, Fault> {
        let begun = Instant::now();
        self.stage.perform(deed, &self.pool).await?;
        let taken = begun.elapsed();
        settled(&self.pool).await;
        Ok(taken)
    }

    /// Calls some times, plain or a first run.
    async fn slice(&mut self, is_first: bool, processor: &Processor) -> Result<(), Fault> {
        let deed = if is_first {
            self.deed()
        } else {
            Deed::PlainOne
        };
        let before = position(&mut self.observer).await?;
        let begun = processor.elapsed()?;
        let mut times = Sample::default();
        for _ in 0..SLICE {
            times.push_time(self.call(deed).await?);
        }
        let server = processor.elapsed()?.since(begun).server;
        let written = position(&mut self.observer).await? - before;
        let cost = if is_first {
            &mut self.first
        } else {
            &mut self.plain
        };
        cost.time.append(&times);
        cost.server.push(server.as_secs_f64() * 1e6 / float(SLICE));
        cost.wal.push(written / float(SLICE));
        Ok(())
    }

    /// Returns the pages that a first run asks for.
    fn pages_a_call(&self) -> f64 {
        // One call more has opened the connection.
        self.pages / float(self.first.time.count() + 1)
    }

    fn note(&self, report: &mut Report) {
        let name = format!("records/{}/{}", self.order.name(), self.records);
        report.sample(&format!("{name}/plain"), &self.plain.time);
        report.sample(&format!("{name}/first run"), &self.first.time);
        report.sample(&format!("{name}/plain/server"), &self.plain.server);
        report.sample(&format!("{name}/first run/server"), &self.first.server);
        report.figure(&format!("{name}/WAL"), self.first.wal.mean());
        report.figure(&format!("{name}/pages"), self.pages_a_call());
    }
}

/// Returns the table of one order. The last ratio of a row compares the first run with that on the
/// table of 10,000.
fn tabulate(order: Order, tables: &[&Filled]) -> Table {
    let calls = tables.first().map_or(0, |table| table.first.time.count());
    let caption = format!(
        "A first run by records in the table, {}: {calls} calls each, after a checkpoint",
        order.name()
    );
    let columns = [
        "records",
        "plain",
        "first run",
        "ratio",
        "server's processor, plain",
        "first run",
        "WAL, mean",
        "median",
        "pages of the table and its indexes",
        "over 10,000 records",
    ];
    let mut shown = Table::new(&caption, &columns);
    let small = tables.iter().find(|table| table.records == BASE);
    for table in tables {
        let (plain, first) = (&table.plain, &table.first);
        shown.row(vec![
            whole(float(table.records)),
            time(plain.time.median()),
            time(first.time.median()),
            ratio(first.time.median() / plain.time.median()),
            time(plain.server.median()),
            time(first.server.median()),
            whole(first.wal.mean()),
            whole(first.wal.median()),
            format!("{:.1}", table.pages_a_call()),
            small.map_or("–".into(), |small| {
                ratio(first.time.median() / small.first.time.median())
            }),
        ]);
    }
    shown
}
