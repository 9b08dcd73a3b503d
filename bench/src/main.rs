//! Measures the cost of a call against the same work without the library.
//!
//! Every figure is a ratio of two cases that ran alternately, in a random order each time, so that
//! a busy machine slows both equally. `docs/performance.md` describes the measurements; `cargo
//! xtask bench` runs them.

mod block;
mod cases;
mod deed;
mod hand;
mod numbers;
mod options;
mod processor;
mod report;
mod server;
mod textbook;
mod work;

use std::fs;
use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use self::block::{BLOCKS, Bench};
use self::numbers::Chance;
use self::options::Options;
use self::report::machine::Machine;
use self::report::{document, goals};
use self::server::Server;

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
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let blocks = BLOCKS.map(|(name, _)| name);
    let options = Options::read(std::env::args().skip(1), now.as_secs(), &blocks)?;
    if options.measure {
        // By default Linux lets a sleep last 50 µs longer, to wake the processor less often.
        // Threads started from here on inherit this setting. If it may not be changed, slow links
        // are a little slower, which the measured ping shows.
        let _ = fs::write("/proc/self/timerslack_ns", "1000");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let asked = options.clone();
        // Runs in a task, because a worker would have to wake the main thread at each await.
        let measured = runtime.block_on(async { tokio::spawn(measure(asked)).await });
        measured??;
    }
    if options.write_docs {
        document::write(&options)?;
    }
    Ok(())
}

async fn measure(options: Options) -> Result<(), Fault> {
    let server = Server::start()?;
    let machine = Machine::here(&server.database("about").await?).await?;
    println!("seed {}\n{}", options.seed, machine.sentence());
    let mut shown = 0;
    for (name, run) in BLOCKS {
        if !options.wants(name) || is_left_out(&options, name) {
            continue;
        }
        let begun = Instant::now();
        let mut report = run(Bench {
            options: &options,
            server: &server,
            chance: Chance::new(options.seed),
        })
        .await
        .map_err(|fault| format!("block {name}: {fault}"))?;
        report.quick = options.quick;
        report.seed = options.seed;
        report.seconds = begun.elapsed().as_secs_f64();
        report.machine = Some(machine.clone());
        report.show();
        shown += report.tables.len();
        if options.row.is_none() {
            report.keep(&options.out)?;
        }
        println!("block {name}: {:.0} s", report.seconds);
    }
    if options.row.is_some() {
        return match shown {
            0 => Err("no case has a name with the text of --row".into()),
            _ => Ok(()),
        };
    }
    if let Ok(table) = goals::table(&options.out, "") {
        println!("\n{table}");
    }
    println!("JSON and plots are in {}", options.out.display());
    Ok(())
}

/// Returns whether `--row` leaves a block out because the block has no cases of one call, unless the
/// block is named.
fn is_left_out(options: &Options, block: &str) -> bool {
    let has_none = ["fingerprint", "layout", "purge"].contains(&block);
    has_none && options.row.is_some() && options.blocks.is_empty()
}
