//! Measures calls of other keys beside calls that wait for one key.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::PgPool;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::Bench;
use crate::Fault;
use crate::deed::{Deed, Stage};
use crate::numbers::{Sample, float};
use crate::report::table::{ratio, time, whole};
use crate::report::{Report, Table};
use crate::server::{Path, Way};

/// The calls that wait for one key, and the tasks that call for other keys through the same pool.
const WAITERS: usize = 512;
const TASKS: u32 = 4;

/// The pairs of windows, one with waiters and one without.
const PAIRS: usize = 20;

/// How long waiters have waited before a window begins: by then they are looked up for every 64 ms.
const BEFORE: Duration = Duration::from_secs(1);

pub(super) async fn run(mut bench: Bench<'_>) -> Result<Report, Fault> {
    let database = bench.server.database("waiters").await?;
    let stage = Arc::new(Stage::set_in_flight(&database).await?);
    let pool = database.pool(Way {
        path: Path::Fused,
        connections: TASKS,
        ..Way::DIRECT
    });
    let quick = bench.options.quick;
    let length = Duration::from_millis(if quick { 100 } else { 1_000 });
    window(&stage, &pool, length).await?;
    let (mut alone, mut beside) = (Sample::default(), Sample::default());
    for _ in 0..if quick { 2 } else { PAIRS } {
        let mut pair = [0, WAITERS];
        bench.chance.shuffle(&mut pair);
        for waiters in pair {
            let mut waiting = JoinSet::new();
            for _ in 0..waiters {
                let (stage, pool) = (Arc::clone(&stage), pool.clone());
                waiting.spawn(async move { stage.perform(Deed::Wait, &pool).await });
            }
            sleep(BEFORE).await;
            let times = window(&stage, &pool, length).await?;
            if let Some(ended) = waiting.try_join_next() {
                return Err(format!("a call did not wait: {ended:?}").into());
            }
            waiting.shutdown().await;
            let sample = if waiters == 0 {
                &mut alone
            } else {
                &mut beside
            };
            sample.append(&times);
        }
    }
    let found = beside.median() / alone.median();
    let (low, high) = beside.ratio_within(&alone, &mut bench.chance);
    let mut report = Report::of("waiters");
    report.sample("alone", &alone);
    report.sample("beside", &beside);
    report.figure("ratio", found);
    let mut table = Table::new(
        &format!(
            "Calls of other keys beside {WAITERS} calls that wait for one, all through one pool of {TASKS} connections; \
             {TASKS} tasks that call without a pause"
        ),
        &[
            "",
            "calls",
            "median",
            "99 of 100 below",
            "ratio",
            "95 of 100",
        ],
    );
    let none = || "–".to_owned();
    table.row(vec![
        "alone".to_owned(),
        whole(float(alone.count())),
        time(alone.median()),
        time(alone.quantile(0.99)),
        none(),
        none(),
    ]);
    table.row(vec![
        format!("beside {WAITERS} that wait"),
        whole(float(beside.count())),
        time(beside.median()),
        time(beside.quantile(0.99)),
        ratio(found),
        format!("{low:.2} – {high:.2}"),
    ]);
    report.tables.push(table);
    Ok(report)
}

/// Calls for the given time.
async fn window(stage: &Arc<Stage>, pool: &PgPool, length: Duration) -> Result<Sample, Fault> {
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let (stage, pool) = (Arc::clone(stage), pool.clone());
        tasks.spawn(async move {
            let mut times = Sample::default();
            while begun.elapsed() < length {
                let call = Instant::now();
                stage.perform(Deed::One, &pool).await?;
                times.push_time(call.elapsed());
            }
            Ok::<_, Fault>(times)
        });
    }
    let mut times = Sample::default();
    while let Some(task) = tasks.join_next().await {
        times.append(&task??);
    }
    Ok(times)
}
