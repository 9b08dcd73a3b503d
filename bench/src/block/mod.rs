//! The blocks of a run. Each measures one thing and writes a report.

mod console;
mod counts;
mod fingerprint;
mod growth;
mod latency;
mod layout;
mod mariadb;
mod messages;
mod purge;
mod slices;
mod sqlite;
mod stats;
mod tasks;
mod waiters;
mod written;

use std::pin::Pin;

use crate::Fault;
use crate::numbers::Chance;
use crate::options::Options;
use crate::report::Report;
use crate::server::Server;

/// The inputs of a block.
pub(crate) struct Bench<'a> {
    pub(crate) options: &'a Options,
    pub(crate) server: &'a Server,
    pub(crate) chance: Chance,
}

type Measuring<'a> = Pin<Box<dyn Future<Output = Result<Report, Fault>> + Send + 'a>>;
type Block = for<'a> fn(Bench<'a>) -> Measuring<'a>;

/// All blocks, in the order in which they run.
pub(crate) const BLOCKS: [(&str, Block); 13] = [
    ("counts", |bench| Box::pin(counts::run(bench))),
    ("latency", |bench| Box::pin(latency::run(bench))),
    ("tasks", |bench| Box::pin(tasks::run(bench))),
    ("written", |bench| Box::pin(written::run(bench))),
    ("fingerprint", |bench| {
        Box::pin(async { fingerprint::run(bench) })
    }),
    ("growth", |bench| Box::pin(growth::run(bench))),
    ("layout", |bench| Box::pin(layout::run(bench))),
    ("purge", |bench| Box::pin(purge::run(bench))),
    ("waiters", |bench| Box::pin(waiters::run(bench))),
    ("mariadb", |bench| Box::pin(mariadb::run(bench))),
    ("sqlite", |bench| Box::pin(sqlite::run(bench))),
    ("messages", |bench| Box::pin(messages::run(bench))),
    ("console", |bench| Box::pin(console::run(bench))),
];
