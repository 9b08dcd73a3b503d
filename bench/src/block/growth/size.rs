//! The size of a result: from 100 bytes to a megabyte.

use std::time::Instant;

use idem_runtime::{IdempotencyKey, idempotent};
use sqlx::PgPool;
use sqlx::postgres::PgTransaction;

use super::super::stats::position;
use super::Bench;
use crate::Fault;
use crate::numbers::{Chance, Sample};
use crate::report::table::{ratio, time, whole};
use crate::report::{Report, Table};
use crate::server::{Path, Way, settled};
use crate::work::{NAMESPACE, Pay, PayError, fresh_key, key, one};

const SIZES: [(usize, &str); 5] = [
    (100, "100 B"),
    (1_000, "1 kB"),
    (10_000, "10 kB"),
    (100_000, "100 kB"),
    (1_000_000, "1 MB"),
];

/// Iterations of a full run.
const ITERATIONS: usize = 100;

/// What a call does, and the path of its pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    /// The payment alone.
    Plain,
    /// The payment, and one INSERT of the bytes into a table of the business.
    PlainAndBytes,
    First(Path),
    Select,
    Replay,
}

const CALLS: [(&str, Call); 6] = [
    ("plain", Call::Plain),
    ("plain with the bytes", Call::PlainAndBytes),
    ("first run, fused", Call::First(Path::Fused)),
    ("first run, unfused", Call::First(Path::Unfused)),
    ("one SELECT", Call::Select),
    ("replay", Call::Replay),
];

/// Pays, and returns a receipt of some length.
#[idempotent(namespace = "bench", skip(receipt))]
async fn pay_for_receipt(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
    receipt: &str,
) -> Result<String, PayError> {
    let _ = key;
    one(tx, cmd).await?;
    Ok(receipt.to_owned())
}

pub(super) async fn run(bench: &mut Bench<'_>, report: &mut Report) -> Result<(), Fault> {
    let database = bench.server.database("growth_size").await?;
    database
        .run("CREATE TABLE receipt (id bigserial PRIMARY KEY, body bytea NOT NULL)")
        .await?;
    let mut observer = database.connect().await?;
    let pools = [Path::Fused, Path::Unfused].map(|path| {
        database.pool(Way {
            path,
            ..Way::DIRECT
        })
    });
    let mut times = Table::new(
        "A call by the size of its result",
        &[
            "result",
            "plain",
            "plain with the bytes",
            "first run, fused",
            "over it",
            "first run, unfused",
            "over it",
            "WAL more than plain with the bytes",
            "one SELECT",
            "replay",
            "over it",
        ],
    );
    for (bytes, size) in SIZES {
        let receipt = receipt(bytes, &mut bench.chance);
        let known = key(&format!("receipt of {size}"));
        pay_for_receipt(&pools[0], &known, &Pay::of(1), &receipt).await?;
        let mut samples = CALLS.map(|_| (Sample::default(), Sample::default()));
        let warm_up = 3;
        for iteration in 0..warm_up + bench.options.scaled(ITERATIONS) {
            for index in bench.chance.order(CALLS.len()) {
                let call = CALLS[index].1;
                let pool = &pools[usize::from(call == Call::First(Path::Unfused))];
                let before = position(&mut observer).await?;
                let begun = Instant::now();
                perform(call, pool, &known, &receipt).await?;
                let taken = begun.elapsed();
                settled(pool).await;
                if iteration >= warm_up {
                    samples[index].0.push_time(taken);
                    let written = position(&mut observer).await? - before;
                    samples[index].1.push(written);
                }
            }
        }
        for ((name, _), (time, wal)) in CALLS.iter().zip(&samples) {
            report.sample(&format!("size/{bytes}/{name}"), time);
            report.figure(&format!("size/{bytes}/{name}/WAL"), wal.mean());
        }
        let median = |index: usize| samples[index].0.median();
        times.row(vec![
            size.to_owned(),
            time(median(0)),
            time(median(1)),
            time(median(2)),
            ratio(median(2) / median(1)),
            time(median(3)),
            ratio(median(3) / median(1)),
            whole(samples[2].1.mean() - samples[1].1.mean()),
            time(median(4)),
            time(median(5)),
            ratio(median(5) / median(4)),
        ]);
    }
    for pool in pools {
        pool.close().await;
    }
    report.tables.push(times);
    Ok(())
}

async fn perform(
    call: Call,
    pool: &PgPool,
    known: &IdempotencyKey,
    receipt: &str,
) -> Result<(), Fault> {
    match call {
        Call::Plain | Call::PlainAndBytes => {
            let mut tx = pool.begin().await?;
            one(&mut tx, &Pay::next()).await?;
            if call == Call::PlainAndBytes {
                sqlx::query("INSERT INTO receipt (body) VALUES ($1)")
                    .bind(receipt.as_bytes())
                    .execute(&mut *tx)
                    .await?;
            }
            tx.commit().await?;
        }
        Call::First(_) => {
            let answer = pay_for_receipt(pool, &fresh_key(), &Pay::next(), receipt).await?;
            if answer.replayed() {
                return Err("replayed, where the key is fresh".into());
            }
        }
        Call::Select => {
            sqlx::query_scalar::<_, Vec<u8>>(
                "SELECT result FROM idem_record WHERE namespace = $1 AND scope = $2 AND key = $3",
            )
            .bind(NAMESPACE)
            .bind("")
            .bind(known.as_str())
            .fetch_one(pool)
            .await?;
        }
        Call::Replay => {
            let answer = pay_for_receipt(pool, known, &Pay::of(1), "").await?;
            if !answer.replayed() || answer.len() != receipt.len() {
                return Err("the receipt was not replayed".into());
            }
        }
    }
    Ok(())
}

/// Returns random letters and digits, which the server does not compress.
fn receipt(bytes: usize, chance: &mut Chance) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let letter = |_| char::from(LETTERS[chance.below(LETTERS.len())]);
    (0..bytes).map(letter).collect()
}
