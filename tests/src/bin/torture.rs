//! The torture test of `cargo xtask torture`, and its clients.

use std::env;
use std::process::ExitCode;
use std::time::Duration;

use idem_tests::for_engine;
use idem_tests::torture::Fault;
use idem_tests::torture::arena::{self, Plan};
use idem_tests::torture::client::{self, Errand};
use idem_tests::torture::engine::{Engine, NAMES};
use idem_tests::torture::planted::Planted;
use idem_tests::torture::report::{Report, keep};

const USAGE: &str = "\
usage: cargo xtask torture [--engine NAME]… [--calls N] [--faults N] [--seed S] [--minutes M]

Client processes call handlers and retry, while a nemesis kills clients, ends backends, crashes the
server and cuts links at COMMIT. Afterwards a checker compares the clients' logs with the tables.

  --engine NAME  postgres, mariadb, sqlite-wal, sqlite-rollback; sqlite is both of those; default: all
  --calls N      calls on each engine; default 20000
  --faults N     faults on each engine; default: one in 500 calls, and at least 26; with 0, a lease that
                 outlives a full pool may not lapse
  --seed S       the seed of every choice; default 1
  --minutes M    stop each engine's run after M minutes; default: no limit

The command ends with code 1 if a law is broken, and prints the folder that keeps the histories.";

struct Options {
    engines: Vec<String>,
    calls: u64,
    faults: Option<u64>,
    seed: u64,
    minutes: Option<u64>,
}

fn options(arguments: &[String]) -> Result<Options, Fault> {
    let mut options = Options {
        engines: Vec::new(),
        calls: 20_000,
        faults: None,
        seed: 1,
        minutes: None,
    };
    for pair in arguments.chunks(2) {
        let [name, value] = pair else {
            return Err(USAGE.into());
        };
        let number = || value.parse::<u64>();
        match &**name {
            "--engine" => {
                let meant: Vec<_> = NAMES
                    .into_iter()
                    .filter(|name| name == value || name.split('-').next() == Some(value))
                    .collect();
                if meant.is_empty() {
                    return Err(format!("there is no engine `{value}`\n\n{USAGE}").into());
                }
                options.engines.extend(meant.into_iter().map(str::to_owned));
            }
            "--calls" => options.calls = number()?,
            "--faults" => options.faults = Some(number()?),
            "--seed" => options.seed = number()?,
            "--minutes" => options.minutes = Some(number()?),
            _ => return Err(USAGE.into()),
        }
    }
    if options.engines.is_empty() {
        options.engines = NAMES.map(str::to_owned).into();
    }
    Ok(options)
}

/// Runs one engine. Returns whether all laws held.
async fn torture<E: Engine>(plan: &Plan) -> Result<bool, Fault> {
    let outcome = arena::run::<E>(plan).await?;
    let report = Report {
        engine: E::NAME,
        plan,
        outcome: &outcome,
    };
    println!("{report}");
    let sound = outcome.violations.is_empty();
    if !sound {
        println!("  the histories are kept in {}", keep(outcome)?.display());
    }
    Ok(sound)
}

async fn tortures(arguments: &[String]) -> Result<bool, Fault> {
    let options = options(arguments)?;
    let plan = Plan {
        seed: options.seed,
        calls: options.calls.max(1),
        blows: options.faults.unwrap_or((options.calls / 500).max(26)),
        limit: options.minutes.map(Duration::from_mins),
        planted: Planted::Nothing,
        program: env::current_exe()?,
    };
    let mut sound = true;
    for engine in &options.engines {
        sound &= for_engine!(engine.as_str(), torture(&plan))?;
    }
    Ok(sound)
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let outcome: Result<bool, Fault> = match arguments.split_first() {
        Some((mode, [engine, errand @ ..])) if mode == "client" => call(engine, errand).await,
        Some((mode, _)) if matches!(&**mode, "help" | "--help" | "-h") => {
            println!("{USAGE}");
            Ok(true)
        }
        _ => tortures(&arguments).await,
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn call(engine: &str, errand: &[String]) -> Result<bool, Fault> {
    let errand = Errand::parse(errand)?;
    for_engine!(engine, work(errand))
}

async fn work<E: Engine>(errand: Errand) -> Result<bool, Fault> {
    client::run::<E>(errand).await?;
    Ok(true)
}
