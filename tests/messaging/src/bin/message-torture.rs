//! The torture of messages, `cargo xtask torture messages`, and its processes.

use std::env;
use std::process::ExitCode;
use std::time::Duration;

use idem_tests::torture::Fault;
use idem_tests_messaging::for_message_engine;
use idem_tests_messaging::torture::arena::{self, Plan};
use idem_tests_messaging::torture::engine::{Engine, NAMES};
use idem_tests_messaging::torture::errand::Errand;
use idem_tests_messaging::torture::nemesis::Role;
use idem_tests_messaging::torture::planted::Planted;
use idem_tests_messaging::torture::report::{Report, keep};
use idem_tests_messaging::torture::{caller, consumer, relay};

const USAGE: &str = "\
usage: cargo xtask torture messages [--engine NAME]… [--events N] [--faults N] [--seed S] [--minutes M]

Callers append events in the transactions of their effects, relays publish them to NATS JetStream, and consumers have
effects of their own, while a nemesis kills and stops processes, crashes the database, kills the broker and cuts links.
Afterwards a checker compares the tables and the broker's stream.

  --engine NAME  postgres, mariadb, sqlite; default: all
  --events N     events on each engine; default 10000
  --faults N     faults on each engine; default: one in 250 events, and at least 40
  --seed S       the seed of every choice; default 1
  --minutes M    stop each engine's calls after M minutes; default: no limit

The command ends with code 1 if a law is broken, and prints the folder that keeps what remained.";

/// Without any progress for this long, what waits counts as lost.
const PATIENCE: Duration = Duration::from_mins(2);

struct Options {
    engines: Vec<String>,
    events: u64,
    faults: Option<u64>,
    seed: u64,
    minutes: Option<u64>,
}

fn options(arguments: &[String]) -> Result<Options, Fault> {
    let mut options = Options {
        engines: Vec::new(),
        events: 10_000,
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
            "--engine" => options.engines.push(value.clone()),
            "--events" => options.events = number()?.max(1),
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
async fn torture<E: Engine>(options: &Options) -> Result<bool, Fault> {
    let plan = Plan {
        seed: options.seed,
        events: options.events,
        blows: options.faults.unwrap_or((options.events / 250).max(40)),
        possible: E::BLOWS,
        limit: options.minutes.map(Duration::from_mins),
        patience: PATIENCE,
        planted: Planted::Nothing,
        program: env::current_exe()?,
    };
    let outcome = arena::run::<E>(&plan).await?;
    let report = Report {
        engine: E::NAME,
        plan: &plan,
        outcome: &outcome,
    };
    println!("{report}");
    let sound = outcome.violations.is_empty();
    if !sound {
        println!("  what remained is kept in {}", keep(outcome)?.display());
    }
    Ok(sound)
}

async fn tortures(arguments: &[String]) -> Result<bool, Fault> {
    let options = options(arguments)?;
    let mut sound = true;
    for engine in &options.engines {
        sound &= for_message_engine!(engine.as_str(), torture(&options))?;
    }
    Ok(sound)
}

async fn process<E: Engine>(errand: &str) -> Result<bool, Fault> {
    let errand = Errand::parse(errand)?;
    match errand.role {
        Role::Caller => caller::run::<E>(errand).await?,
        Role::Relay => relay::run::<E>(errand).await?,
        Role::Consumer => consumer::run::<E>(errand).await?,
    }
    Ok(true)
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let outcome: Result<bool, Fault> = match arguments.split_first() {
        Some((mode, [engine, errand])) if mode == "process" => {
            for_message_engine!(engine.as_str(), process(errand))
        }
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
