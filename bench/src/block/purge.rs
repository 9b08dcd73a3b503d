//! Measures the effect of a purge on concurrent calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use idem_runtime::PurgeWorker;
use idem_runtime::purge::{DEFAULT_BATCH, DEFAULT_PAUSE};
use sqlx::{Connection as _, PgPool};

use super::Bench;
use crate::Fault;
use crate::deed::{Deed, Stage};
use crate::numbers::{Sample, float};
use crate::report::table::{ratio, time, whole};
use crate::report::{Report, Table};
use crate::server::{Database, Path, Way};

/// The maximum number of windows with a purge, and as many without.
const PAIRS: usize = 20;

/// The tasks that call during the purge.
const TASKS: u32 = 4;

/// The rows of a batch and the pause after it; `None` runs no purge.
type Setting = Option<(u32, Duration)>;

const REAL: Setting = Some((DEFAULT_BATCH, DEFAULT_PAUSE));

const OTHERS: [Setting; 7] = [
    None,
    Some((100, Duration::from_millis(10))),
    REAL,
    Some((1_000, Duration::ZERO)),
    Some((1_000, Duration::from_millis(50))),
    Some((10_000, Duration::from_millis(10))),
    Some((10_000, Duration::from_millis(500))),
];

pub(super) async fn run(mut bench: Bench<'_>) -> Result<Report, Fault> {
    let database = bench.server.database("purge").await?;
    let stage = Arc::new(Stage::set(&database).await?);
    // As in production: a purge leaves dead rows, and autovacuum removes them.
    database
        .run("ALTER TABLE idem_record RESET (autovacuum_enabled)")
        .await?;
    let rows = if bench.options.quick {
        20_000
    } else {
        2_000_000
    };
    fill(&database, rows / 2, true).await?;
    fill(&database, rows / 2, false).await?;
    database.run("VACUUM ANALYZE idem_record").await?;
    database.run("CHECKPOINT").await?;
    let calls = database.pool(Way {
        path: Path::Fused,
        connections: TASKS,
        ..Way::DIRECT
    });
    let site = Site {
        stage,
        calls,
        purging: database.pool(Way::DIRECT),
    };
    site.window(None, Duration::from_millis(300)).await?;

    let mut report = Report::of("purge");
    real(&mut bench, &site, &mut report, rows).await?;
    fill(&database, rows / 4, true).await?;
    database.run("VACUUM ANALYZE idem_record").await?;
    others(&mut bench, &site, &mut report, &database, rows / 4).await?;
    database.run("DROP TABLE idem_record CASCADE").await?;
    Ok(report)
}

/// Runs the worker with its defaults in every second window, until everything is purged or the time
/// is over.
async fn real(
    bench: &mut Bench<'_>,
    site: &Site,
    report: &mut Report,
    rows: usize,
) -> Result<(), Fault> {
    let length = Duration::from_millis(if bench.options.quick { 200 } else { 2_000 });
    let (mut without, mut with) = (Sample::default(), Sample::default());
    let (mut deleted, mut purging) = (0, Duration::ZERO);
    let mut is_over = false;
    for _ in 0..PAIRS {
        let mut pair = [None, REAL];
        bench.chance.shuffle(&mut pair);
        for setting in pair {
            let window = site.window(setting, length).await?;
            if setting.is_none() {
                without.append(&window.times);
            } else {
                deleted += window.deleted;
                purging += window.purging;
                is_over = window.is_over;
                // In the last window the purge ends before the window does.
                if !is_over || bench.options.quick {
                    with.append(&window.times);
                }
            }
        }
        if is_over {
            break;
        }
    }
    let found = with.median() / without.median();
    let (low, high) = with.ratio_within(&without, &mut bench.chance);
    report.sample("without", &without);
    report.sample("with", &with);
    report.figure("ratio", found);
    report.figure("rows", float(usize::try_from(deleted)?));
    report.figure("seconds", purging.as_secs_f64());
    let mut table = Table::new(
        &format!(
            "A call beside a purge of {} expired records of {}, of which it took {} in {:.0} s; {TASKS} tasks that call \
             without a pause; batches of {DEFAULT_BATCH} with {} ms between",
            whole(float(rows / 2)),
            whole(float(rows)),
            whole(float(usize::try_from(deleted)?)),
            purging.as_secs_f64(),
            DEFAULT_PAUSE.as_millis()
        ),
        &[
            "",
            "calls",
            "median",
            "quartiles",
            "99 of 100 below",
            "ratio",
            "95 of 100",
        ],
    );
    for (name, sample) in [("without a purge", &without), ("with it", &with)] {
        let is_plain = name != "with it";
        table.row(vec![
            name.to_owned(),
            whole(float(sample.count())),
            time(sample.median()),
            format!(
                "{} – {}",
                time(sample.quantile(0.25)),
                time(sample.quantile(0.75))
            ),
            time(sample.quantile(0.99)),
            if is_plain { "–".into() } else { ratio(found) },
            if is_plain {
                "–".into()
            } else {
                format!("{low:.2} – {high:.2}")
            },
        ]);
    }
    report.tables.push(table);
    Ok(())
}

/// Tries other batch sizes and pauses, in short windows in a random order. A window in which all expired records are
/// purged is repeated once, after as many as `refill` are there again.
async fn others(
    bench: &mut Bench<'_>,
    site: &Site,
    report: &mut Report,
    database: &Database,
    refill: usize,
) -> Result<(), Fault> {
    let length = Duration::from_millis(if bench.options.quick { 60 } else { 1_000 });
    let mut samples = vec![(Sample::default(), 0, Duration::ZERO); OTHERS.len()];
    for _ in 0..bench.options.scaled(5) {
        for index in bench.chance.order(OTHERS.len()) {
            let is_short =
                |window: &Window| OTHERS[index].is_some() && window.is_over && !bench.options.quick;
            let mut window = site.window(OTHERS[index], length).await?;
            if is_short(&window) {
                fill(database, refill, true).await?;
                database.run("VACUUM ANALYZE idem_record").await?;
                window = site.window(OTHERS[index], length).await?;
            }
            if is_short(&window) {
                return Err("nothing was left to purge".into());
            }
            let (times, deleted, purging) = &mut samples[index];
            times.append(&window.times);
            *deleted += window.deleted;
            *purging += window.purging;
        }
    }
    let mut table = Table::new(
        "Batch and pause of a purge, and the calls beside it",
        &[
            "batch",
            "pause",
            "rows a second",
            "median of a call",
            "99 of 100 below",
            "ratio",
        ],
    );
    let without = samples[0].0.median();
    for (setting, (times, deleted, purging)) in OTHERS.iter().zip(&samples) {
        let rate = float(usize::try_from(*deleted)?) / purging.as_secs_f64();
        let found = times.median() / without;
        let (batch, pause) = match setting {
            None => ("none".to_owned(), "–".to_owned()),
            Some((batch, pause)) => (
                whole(f64::from(*batch)),
                format!("{} ms", pause.as_millis()),
            ),
        };
        report.figure(&format!("batch {batch}, pause {pause}/ratio"), found);
        report.figure(&format!("batch {batch}, pause {pause}/rows a second"), rate);
        table.row(vec![
            batch,
            pause,
            if setting.is_none() {
                "–".into()
            } else {
                whole(rate)
            },
            time(times.median()),
            time(times.quantile(0.99)),
            if setting.is_none() {
                "–".into()
            } else {
                ratio(found)
            },
        ]);
    }
    report.tables.push(table);
    Ok(())
}

struct Site {
    stage: Arc<Stage>,
    calls: PgPool,
    purging: PgPool,
}

/// The result of one window.
struct Window {
    times: Sample,
    deleted: u64,
    purging: Duration,
    /// Whether no expired record was left.
    is_over: bool,
}

impl Site {
    /// Calls for the given time, beside a worker with this setting.
    async fn window(&self, setting: Setting, length: Duration) -> Result<Window, Fault> {
        let (deleted, is_over) = (
            Arc::new(AtomicU64::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let begun = Instant::now();
        let worker = setting.map(|(batch, pause)| {
            let (deleted, is_over) = (Arc::clone(&deleted), Arc::clone(&is_over));
            let worker = PurgeWorker::new(self.purging.clone())
                .batch(batch)
                .pause(pause)
                .on_sweep(move |swept| {
                    if let Ok(purged) = swept {
                        deleted.fetch_add(purged.rows, Ordering::AcqRel);
                        // A batch that is cut short by the end of the window has left expired
                        // records.
                        let cut = begun.elapsed() >= length;
                        is_over.store(!cut && !purged.skipped, Ordering::Release);
                    }
                });
            tokio::spawn(worker.run(stopped))
        });
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let (stage, pool) = (Arc::clone(&self.stage), self.calls.clone());
                tokio::spawn(async move {
                    let mut times = Sample::default();
                    while begun.elapsed() < length {
                        let call = Instant::now();
                        stage.perform(Deed::One, &pool).await?;
                        times.push_time(call.elapsed());
                    }
                    Ok::<_, Fault>(times)
                })
            })
            .collect();
        let mut times = Sample::default();
        for task in tasks {
            times.append(&task.await??);
        }
        drop(stop);
        if let Some(worker) = worker {
            worker.await?;
        }
        Ok(Window {
            times,
            deleted: deleted.load(Ordering::Acquire),
            purging: begun.elapsed(),
            is_over: is_over.load(Ordering::Acquire),
        })
    }
}

/// Inserts records in the order of time, as time-ordered keys do.
async fn fill(database: &Database, rows: usize, expired: bool) -> Result<(), Fault> {
    let mut connection = database.connect().await?;
    let age = if expired {
        "- interval '25 hours'"
    } else {
        "- interval '1 hour'"
    };
    let statement = format!(
        "INSERT INTO idem_record (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, codec, \
         namespace, scope, key, operation, fingerprint, result) \
         SELECT clock_timestamp() {age}, clock_timestamp() {age} + interval '24 hours', gen_random_uuid(), 1, 1, 1, 1, \
         'bench', '', to_char(clock_timestamp() {age}, 'YYYYMMDDHH24MISSUS') || lpad(n::text, 8, '0') || '-4b1d-9f', \
         'pay_one', sha256(n::text::bytea), '{{\"id\":1234567}}' FROM generate_series(1, {rows}) AS n"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement))
        .execute(&mut connection)
        .await?;
    Ok(connection.close().await?)
}
