//! `idem`: what an operator does with idempotency records and outbox events.
//!
//! The commands parse, ask and print. What they do is `idem_runtime::operate`, and `idem_messaging::outbox` for events.

mod args;
mod commands;
mod confirm;
mod database;
mod fault;
mod operators;
mod view;

use std::process::ExitCode;

use clap::Parser as _;

use self::args::Args;
use self::fault::Fault;

fn main() -> ExitCode {
    let args = Args::parse();
    let is_json = args.shared.json;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(commands::run(args)),
        Err(error) => Err(Fault::environment(format!("no runtime: {error}"))),
    };
    match done {
        Ok(outcome) => outcome.exit_code(),
        Err(fault) => {
            fault.print(is_json);
            fault.exit_code()
        }
    }
}
