//! A node of a service, for the tests of deploys: each build of the service is another process of this program.
//!
//! `deployed BUILD URL CALL KEY AMOUNT` makes one call as `BUILD` has it, and prints its answer. A first run prints
//! `working`, and waits for a line before its body ends. The modules of `builds` are the builds.

mod answer;
mod builds;
mod types;

use std::env;
use std::error::Error;

use idem_runtime::IdempotencyKey;
use sqlx::{MySqlPool, PgPool, SqlitePool};

/// How the handler is called.
struct Call {
    /// `pool`, `joined` (in the caller's transaction) or `leased`.
    way: String,
    key: IdempotencyKey,
    /// What is paid; a negative amount is declined.
    amount: i64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let mut next = || arguments.next().ok_or("BUILD, URL, CALL, KEY and AMOUNT?");
    let (mut build, url) = (next()?, next()?);
    if build == "knowing" {
        // The old handlers, in a build that knows a newer fingerprint.
        idem_runtime::fingerprint::know_version_2();
        "old".clone_into(&mut build);
    }
    let call = Call {
        way: next()?,
        key: next()?.parse::<IdempotencyKey>()?.global(),
        amount: next()?.parse()?,
    };
    let answer = if url.starts_with("sqlite:") {
        builds::call(&build, &SqlitePool::connect(&url).await?, &call).await
    } else if url.starts_with("mysql:") {
        builds::call(&build, &MySqlPool::connect(&url).await?, &call).await
    } else {
        builds::call(&build, &PgPool::connect(&url).await?, &call).await
    };
    println!("{answer}");
    Ok(())
}
