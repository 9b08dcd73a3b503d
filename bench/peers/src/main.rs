//! The cost of running work once per key by other means, on the same machine and for the same work.
//!
//! The modules of the bench (`bench/src`) are compiled in from there. `cargo xtask bench peers`
//! builds and runs this; the section "Peers" of `docs/performance.md` shows the result.

mod course;
mod dbos_peer;
mod document;
mod durare;
mod field;
#[path = "../../src/hand.rs"]
mod hand;
#[path = "../../src/report/machine.rs"]
mod machine;
#[path = "../../src/report/marks.rs"]
mod marks;
#[expect(dead_code, reason = "the bench makes more of its samples")]
#[path = "../../src/numbers.rs"]
mod numbers;
mod options;
mod peer;
mod postgres;
mod redis;
#[path = "../../src/server.rs"]
mod server;
mod sqlite;
#[path = "../../src/report/table.rs"]
mod table;
#[path = "../../src/textbook.rs"]
mod textbook;
#[expect(dead_code, reason = "the bench has more handlers")]
#[path = "../../src/work.rs"]
mod work;

use std::process::ExitCode;
use std::time::Instant;

use document::Report;
use machine::Machine;
use numbers::Chance;
use options::Options;
use redis::{Fsync, Redis};
use server::Server;

/// Any error that prevents a figure.
type Fault = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    match bench() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}

fn bench() -> Result<(), Fault> {
    let options = Options::read(std::env::args().skip(1))?;
    if options.measure {
        // Threads that sleep for the wire must not sleep longer, as in the bench.
        let _ = std::fs::write("/proc/self/timerslack_ns", "1000");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let asked = options.clone();
        // Runs in a task, because a worker would have to wake the main thread at each await.
        runtime.block_on(async { tokio::spawn(measure(asked)).await })??;
    }
    if options.write_docs {
        document::write(&options)?;
    }
    Ok(())
}

async fn measure(options: Options) -> Result<(), Fault> {
    let begun = Instant::now();
    let server = Server::start()?;
    let redis = [Fsync::EverySecond, Fsync::Always].map(Redis::start);
    let [every_second, always] = redis;
    let redis = [every_second?, always?];
    let machine = Machine::here(&server.database("about").await?).await?;
    println!("seed {}\n{}", options.seed, machine.sentence());
    let mut chance = Chance::new(options.seed);
    let mut report = Report::new(&options, machine);
    postgres::run(&options, &server, &redis, &mut chance, &mut report).await?;
    sqlite::run(&options, &mut chance, &mut report).await?;
    report.seconds = begun.elapsed().as_secs_f64();
    report.keep(&options)?;
    println!(
        "{:.0} s; JSON is in {}",
        report.seconds,
        options.out.display()
    );
    Ok(())
}
