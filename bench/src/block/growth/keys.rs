//! The keys in one transaction of the caller: from 1 to 1,000.

use std::time::Instant;

use sqlx::PgPool;

use super::Bench;
use crate::Fault;
use crate::numbers::{Sample, float};
use crate::processor::Processor;
use crate::report::table::{ratio, time, whole};
use crate::report::{Report, Table};
use crate::server::{Way, settled};
use crate::work::{Pay, fresh_key, one, pay_one};

const KEYS: [usize; 4] = [1, 10, 100, 1_000];

/// The calls of each size, of a full run; at least three transactions.
const CALLS: usize = 8_000;

/// Times and processor times of a call, in microseconds.
#[derive(Debug, Clone, Default)]
struct Cost {
    time: Sample,
    server: Sample,
}

pub(super) async fn run(bench: &mut Bench<'_>, report: &mut Report) -> Result<(), Fault> {
    let database = bench.server.database("growth_keys").await?;
    let pool = database.pool(Way::DIRECT);
    let mut table = Table::new(
        "A call by keys in one transaction of the caller: the transaction's time, divided by its calls",
        &[
            "keys",
            "transactions",
            "plain, a payment",
            "a call",
            "ratio",
            "server's processor, plain",
            "a call",
            "ratio",
        ],
    );
    for with_key in [false, true] {
        transaction(&pool, 1, with_key).await?;
    }
    let processor = Processor::of(&database).await?;
    for keys in KEYS {
        let mut costs = [Cost::default(), Cost::default()];
        for _ in 0..bench.options.scaled(CALLS.min(400 * keys) / keys) {
            for index in bench.chance.order(2) {
                let (before, begun) = (processor.elapsed()?, Instant::now());
                transaction(&pool, keys, index == 1).await?;
                let taken = begun.elapsed();
                settled(&pool).await;
                let server = processor.elapsed()?.since(before).server;
                let cost = &mut costs[index];
                cost.time.push(taken.as_secs_f64() * 1e6 / float(keys));
                cost.server.push(server.as_secs_f64() * 1e6 / float(keys));
            }
        }
        let [plain, call] = costs;
        for (name, cost) in [("plain", &plain), ("call", &call)] {
            report.sample(&format!("keys/{keys}/{name}"), &cost.time);
            report.sample(&format!("keys/{keys}/{name}/server"), &cost.server);
        }
        table.row(vec![
            whole(float(keys)),
            whole(float(call.time.count())),
            time(plain.time.median()),
            time(call.time.median()),
            ratio(call.time.median() / plain.time.median()),
            time(plain.server.median()),
            time(call.server.median()),
            ratio(call.server.median() / plain.server.median()),
        ]);
    }
    pool.close().await;
    report.tables.push(table);
    Ok(())
}

/// Pays as often as there are keys, and commits.
async fn transaction(pool: &PgPool, keys: usize, with_key: bool) -> Result<(), Fault> {
    let mut tx = pool.begin().await?;
    for _ in 0..keys {
        if with_key {
            pay_one(&mut tx, &fresh_key(), &Pay::next()).await?;
        } else {
            one(&mut tx, &Pay::next()).await?;
        }
    }
    Ok(tx.commit().await?)
}
