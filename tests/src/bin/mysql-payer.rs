//! A separate process that pays on MySQL, for tests that need several processes or that kill one.
//!
//! `mysql-payer rush URL KEY CALLS` prints `ready`. After a line on its input it makes all calls at
//! once, retries each while the key is in flight, and prints the payment's id for each.
//!
//! `mysql-payer stall URL KEY` prints `paid` once the body has written, and stays there for ever.
//!
//! `mysql-payer once URL KEY` makes one call and waits for a competing attempt.

use std::env;
use std::io;
use std::sync::Arc;

use idem_runtime::{Error, IdempotencyKey};
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::mysql::payments::{Pay, PayError, pay, pay_patiently};
use sqlx::mysql::{MySqlPool, MySqlPoolOptions};
use tokio::task::JoinSet;

type Fault = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Fault> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["rush", url, key, calls] => rush(pool(url)?, key.parse()?, calls.parse()?).await,
        ["stall", url, key] => stall(pool(url)?, key.parse()?).await,
        ["once", url, key] => {
            let key = key.parse::<IdempotencyKey>()?.global();
            let paid = pay_patiently(&pool(url)?, &key, &Pay { amount: 1 }).await?;
            println!("{}", paid.id);
            Ok(())
        }
        _ => Err("rush URL KEY CALLS | stall URL KEY | once URL KEY".into()),
    }
}

fn pool(url: &str) -> Result<MySqlPool, Fault> {
    Ok(MySqlPoolOptions::new()
        .max_connections(8)
        .connect_lazy(url)?)
}

async fn rush(pool: MySqlPool, key: IdempotencyKey, calls: usize) -> Result<(), Fault> {
    let key = Arc::new(key.global());
    println!("ready");
    io::stdin().read_line(&mut String::new())?;
    let mut all = JoinSet::new();
    for _ in 0..calls {
        let (pool, key) = (pool.clone(), Arc::clone(&key));
        all.spawn(async move {
            loop {
                match pay(&pool, &key, &Pay { amount: 1 }).await {
                    Err(PayError::Idempotency(Error::InFlight { .. })) => {
                        tokio::task::yield_now().await;
                    }
                    done => return done,
                }
            }
        });
    }
    while let Some(done) = all.join_next().await {
        println!("{}", done??.id);
    }
    Ok(())
}

async fn stall(pool: MySqlPool, key: IdempotencyKey) -> Result<(), Fault> {
    let key = key.global();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let cmd = Pay { amount: 1 };
    let call = async {
        pay(&pool, &key, &cmd).await?;
        Ok(())
    };
    let report = async {
        gate.entered().await;
        println!("paid");
        std::future::pending().await
    };
    tokio::select! {
        done = call => done,
        never = report => never,
    }
}
