//! Makes calls of each transport in this process, with the bare framework and with the edge, and prints the allocations of
//! each. Callgrind finds each call by the name of its stretch.
//!
//! No measured call reaches a database: an outcome that was made once stands for the handler's call ([`shop`]).

mod at_once;
mod on_actix;
mod on_axum;
mod on_jsonrpc;
mod on_mcp;
mod on_tonic;
mod on_tower;
mod shop;
mod stretch;

use std::error::Error;
use std::thread;

use idem_tests_counting::Ledger;
use tokio::runtime::{Builder, Runtime};

use self::shop::Outcomes;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome {
    // The database has threads, which allocate when they please. The real calls are made in a thread of their own, so that
    // they leave the memory of this one as it is.
    let real = thread::spawn(|| runtime()?.block_on(Outcomes::of_real_calls()));
    let outcomes = real.join().map_err(|_| "the real calls panicked")??;
    let mut ledger = Ledger::default();
    runtime()?.block_on(calls(&mut ledger, &outcomes))?;
    ledger.print();
    Ok(())
}

/// One thread, so that the order of execution does not depend on a scheduler.
fn runtime() -> Outcome<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

async fn calls(ledger: &mut Ledger, outcomes: &Outcomes) -> Outcome {
    on_axum::measure(ledger, outcomes)?;
    on_tower::measure(ledger, outcomes)?;
    on_actix::measure(ledger, outcomes).await?;
    on_jsonrpc::measure(ledger, outcomes)?;
    on_tonic::measure(ledger, outcomes)?;
    on_mcp::measure(ledger, outcomes)
}
