//! Measures the calls a second by 1, 8 and 32 concurrent tasks, and the processor time of each.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::PgPool;

use super::Bench;
use crate::Fault;
use crate::deed::{Deed, Stage};
use crate::numbers::{Sample, float};
use crate::processor::Processor;
use crate::report::table::{ratio, time, whole};
use crate::report::{Plot, Report, Table};
use crate::server::{Database, Path, Way};

const TASKS: [u32; 3] = [1, 8, 32];

/// A call, its path, and the case that it is compared with.
type Kind = (&'static str, Deed, Path, &'static str);

/// The kinds that run with every number of tasks.
const KINDS: [Kind; 4] = [
    ("plain", Deed::PlainOne, Path::Fused, "plain"),
    ("fused", Deed::One, Path::Fused, "plain"),
    ("unfused", Deed::One, Path::Unfused, "plain"),
    ("by hand, fused", Deed::HandFused, Path::Fused, "plain"),
];
/// The kinds whose processor time is measured, by 8 tasks.
const READING: [Kind; 3] = [
    ("one SELECT", Deed::Select, Path::Fused, "one SELECT"),
    ("replay, fused", Deed::Replay, Path::Fused, "one SELECT"),
    ("replay, unfused", Deed::Replay, Path::Unfused, "one SELECT"),
];
const FOR_READING: u32 = 8;

/// Many short slices average better than a few long ones, since the disk has slow seconds.
const ROUNDS: usize = 20;

/// One kind with one number of tasks.
struct Slot {
    tasks: u32,
    kind: Kind,
    pool: PgPool,
    /// Calls a second.
    rate: Sample,
    /// Processor time of a call, in microseconds.
    server: Sample,
    client: Sample,
}

pub(super) async fn run(mut bench: Bench<'_>) -> Result<Report, Fault> {
    let database = bench.server.database("tasks").await?;
    let stage = Arc::new(Stage::set(&database).await?);
    let mut report = Report::of("tasks");
    let slice = slice(&bench);
    let caption = format!(
        "Calls a second, 1 statement each; the median of {} slices of {} ms, and its ratio to plain",
        bench.options.scaled(ROUNDS),
        slice.as_millis()
    );
    let columns = [
        "tasks",
        "plain",
        "fused",
        "",
        "unfused",
        "",
        "by hand, fused",
        "",
    ];
    let mut rates = Table::new(&caption, &columns);
    let mut busy = None;
    for waits_for_disk in [true, false] {
        let slots = measure(&mut bench, &database, &stage, waits_for_disk).await?;
        let disk = if waits_for_disk {
            "fsync"
        } else {
            "synchronous_commit off"
        };
        tabulate(disk, &slots, &mut rates, &mut report);
        plot(disk, waits_for_disk, &slots, &mut report);
        if waits_for_disk {
            busy = Some(tabulate_processor(disk, &slots, &mut report));
        }
        for slot in slots {
            slot.pool.close().await;
        }
    }
    report.tables.push(rates);
    report.tables.extend(busy);
    Ok(report)
}

fn slice(bench: &Bench<'_>) -> Duration {
    Duration::from_millis(if bench.options.quick { 100 } else { 250 })
}

/// Runs every kind with every number of tasks, in a random order each round.
async fn measure(
    bench: &mut Bench<'_>,
    database: &Database,
    stage: &Arc<Stage>,
    waits_for_disk: bool,
) -> Result<Vec<Slot>, Fault> {
    let everywhere = TASKS
        .into_iter()
        .flat_map(|tasks| KINDS.map(|kind| (tasks, kind)));
    let reading = READING.map(|kind| (FOR_READING, kind)).into_iter();
    let mut slots: Vec<_> = everywhere
        .chain(reading.filter(|_| waits_for_disk))
        .map(|(tasks, kind)| Slot {
            tasks,
            kind,
            pool: database.pool(Way {
                path: kind.2,
                waits_for_disk,
                connections: tasks,
                wire: None,
            }),
            rate: Sample::default(),
            server: Sample::default(),
            client: Sample::default(),
        })
        .collect();
    let slice = slice(bench);
    for slot in &slots {
        // Opens the connections and prepares their statements.
        call(stage, slot, slice).await?;
    }
    let processor = Processor::of(database).await?;
    for _ in 0..bench.options.scaled(ROUNDS) {
        for index in bench.chance.order(slots.len()) {
            let slot = &mut slots[index];
            let (before, begun) = (processor.elapsed()?, Instant::now());
            let count = float(call(stage, slot, slice).await?);
            slot.rate.push(count / begun.elapsed().as_secs_f64());
            let elapsed = processor.elapsed()?.since(before);
            slot.server.push(elapsed.server.as_secs_f64() * 1e6 / count);
            slot.client.push(elapsed.client.as_secs_f64() * 1e6 / count);
        }
    }
    Ok(slots)
}

/// Runs the calls of one slice. Each task calls again as soon as its last call returns.
async fn call(stage: &Arc<Stage>, slot: &Slot, slice: Duration) -> Result<usize, Fault> {
    let begun = Instant::now();
    let tasks: Vec<_> = (0..slot.tasks)
        .map(|_| {
            let (stage, pool, deed) = (Arc::clone(stage), slot.pool.clone(), slot.kind.1);
            tokio::spawn(async move {
                let mut count = 0;
                while begun.elapsed() < slice {
                    stage.perform(deed, &pool).await?;
                    count += 1;
                }
                Ok::<_, Fault>(count)
            })
        })
        .collect();
    let mut count = 0;
    for task in tasks {
        count += task.await??;
    }
    Ok(count)
}

fn tabulate(disk: &str, slots: &[Slot], table: &mut Table, report: &mut Report) {
    for tasks in TASKS {
        let mut cells = vec![format!("{tasks}, {disk}")];
        let mut plain = f64::NAN;
        for slot in slots.iter().filter(|slot| slot.tasks == tasks) {
            let (name, .., against) = slot.kind;
            let median = slot.rate.median();
            report.sample(&format!("{disk}/{tasks}/{name}"), &slot.rate);
            if name == "plain" {
                plain = median;
            }
            if against != "plain" {
                continue;
            }
            cells.push(whole(median));
            if name != "plain" {
                report.figure(&format!("{disk}/{tasks}/{name}/ratio"), median / plain);
                cells.push(ratio(median / plain));
            }
        }
        table.row(cells);
    }
}

fn plot(disk: &str, waits_for_disk: bool, slots: &[Slot], report: &mut Report) {
    let line = |(name, ..): Kind| {
        let same = slots.iter().filter(|slot| slot.kind.0 == name);
        (
            name.to_owned(),
            same.map(|slot| slot.rate.median()).collect(),
        )
    };
    let file = if waits_for_disk {
        "tasks.svg"
    } else {
        "tasks-off.svg"
    };
    report.plots.push(Plot {
        file: file.into(),
        title: format!("Calls a second, {disk}"),
        x: "tasks, each with a connection".into(),
        y: "calls a second".into(),
        places: TASKS.map(|tasks| tasks.to_string()).into(),
        lines: KINDS.map(line).into(),
        from: 0.0,
    });
}

fn tabulate_processor(disk: &str, slots: &[Slot], report: &mut Report) -> Table {
    let caption =
        format!("Time on the processor of a call by {FOR_READING} tasks, {disk}; medians");
    let columns = ["call", "server", "client", "both", "against", "ratio"];
    let mut table = Table::new(&caption, &columns);
    let both = |slot: &Slot| slot.server.median() + slot.client.median();
    for slot in slots.iter().filter(|slot| slot.tasks == FOR_READING) {
        let (name, .., against) = slot.kind;
        report.sample(&format!("processor/{name}/server"), &slot.server);
        report.sample(&format!("processor/{name}/client"), &slot.client);
        let plain = slots
            .iter()
            .find(|other| other.tasks == FOR_READING && other.kind.0 == against);
        let found = both(slot) / plain.map_or(f64::NAN, both);
        report.figure(&format!("processor/{name}/ratio"), found);
        let is_itself = name == against;
        table.row(vec![
            name.to_owned(),
            time(slot.server.median()),
            time(slot.client.median()),
            time(both(slot)),
            if is_itself {
                "–".into()
            } else {
                against.to_owned()
            },
            if is_itself {
                "–".into()
            } else {
                ratio(found)
            },
        ]);
    }
    table
}
