//! Measures the calls a second by 1, 8 and 32 concurrent tasks, and the processor time of each.

mod processor;

use std::sync::Arc;

use super::Bench;
use super::slices::{self, Slot, compared, slice};
use crate::Fault;
use crate::cases::{Case, chosen};
use crate::deed::{Deed, Stage};
use crate::report::table::{ratio, whole};
use crate::report::{Plot, Report, Table};
use crate::server::Path;

const TASKS: [u32; 3] = [1, 8, 32];

const PLAIN: &str = "plain";
const SELECT: &str = "one SELECT";

const fn kind(name: &'static str, deed: Deed, path: Path, against: &'static str) -> Case {
    Case {
        name,
        deed,
        path,
        against,
    }
}

/// The kinds of a call that run with every number of tasks.
const KINDS: [Case; 5] = [
    kind(PLAIN, Deed::PlainOne, Path::Fused, PLAIN),
    kind("fused", Deed::One, Path::Fused, PLAIN),
    kind("unfused", Deed::One, Path::Unfused, PLAIN),
    kind("by hand, fused", Deed::HandFused, Path::Fused, PLAIN),
    kind("insert and update", Deed::Textbook, Path::Fused, PLAIN),
];

/// The kinds of which only the processor time is measured.
const READING: [Case; 4] = [
    kind(SELECT, Deed::Select, Path::Fused, SELECT),
    kind("replay, fused", Deed::Replay, Path::Fused, SELECT),
    kind("replay, unfused", Deed::Replay, Path::Unfused, SELECT),
    kind(
        "replay, other process",
        Deed::ReplayElsewhere,
        Path::Fused,
        SELECT,
    ),
];

/// The numbers of tasks whose processor time is shown.
const BUSY: [u32; 2] = [1, 8];

/// Many short slices average better than a few long ones, since the disk has slow seconds.
const ROUNDS: usize = 20;

pub(super) async fn run(mut bench: Bench<'_>) -> Result<Report, Fault> {
    let mut report = Report::of("tasks");
    let names = |kind: &Case| (kind.name, kind.against);
    let kinds = chosen(bench.options, &KINDS, names);
    let reading = chosen(bench.options, &READING, names);
    if kinds.is_empty() && reading.is_empty() {
        return Ok(report);
    }
    let database = bench.server.database("tasks").await?;
    let stage = Arc::new(Stage::set(&database).await?);
    let rounds = bench.options.scaled(ROUNDS);
    let mut rates = table(&kinds, &bench, rounds);
    let mut busy = Vec::new();
    for waits_for_disk in [true, false] {
        let everywhere = TASKS
            .into_iter()
            .flat_map(|tasks| kinds.iter().map(move |kind| (tasks, *kind)));
        let reading = BUSY
            .into_iter()
            .flat_map(|tasks| reading.iter().map(move |kind| (tasks, *kind)));
        let mut slots: Vec<_> = everywhere
            .chain(reading.filter(|_| waits_for_disk))
            .map(|(tasks, kind)| Slot::new(&database, tasks, kind, waits_for_disk))
            .collect();
        slices::measure(&mut bench, &database, &stage, &mut slots, rounds).await?;
        let disk = if waits_for_disk {
            "fsync"
        } else {
            "synchronous_commit off"
        };
        tabulate(disk, &slots, &mut rates, &mut report);
        if bench.options.row.is_none() {
            plot(disk, waits_for_disk, &slots, &mut report);
        }
        if waits_for_disk {
            busy.extend(BUSY.map(|tasks| processor::tabulate(tasks, disk, &slots, &mut report)));
        }
        slices::close(slots).await;
    }
    if !kinds.is_empty() {
        report.tables.push(rates);
    }
    report.tables.extend(busy);
    Ok(report)
}

/// Returns the table of rates: a column for each kind, and one for its ratio to plain.
fn table(kinds: &[Case], bench: &Bench<'_>, rounds: usize) -> Table {
    let caption = format!(
        "Calls a second, 1 statement each; the median of {rounds} slices of {} ms, and its ratio to plain",
        slice(bench).as_millis()
    );
    let mut columns = vec!["tasks"];
    for kind in kinds {
        columns.push(kind.name);
        if kind.name != PLAIN {
            columns.push("");
        }
    }
    Table::new(&caption, &columns)
}

fn tabulate(disk: &str, slots: &[Slot], table: &mut Table, report: &mut Report) {
    for tasks in TASKS {
        let mut cells = vec![format!("{tasks}, {disk}")];
        let of_tasks = slots.iter().filter(|slot| slot.tasks == tasks);
        for slot in of_tasks.filter(|slot| slot.case.against == PLAIN) {
            let (name, median) = (slot.case.name, slot.rate.median());
            report.sample(&format!("{disk}/{tasks}/{name}"), &slot.rate);
            cells.push(whole(median));
            if name != PLAIN {
                let plain = compared(slots, slot).map_or(f64::NAN, |plain| plain.rate.median());
                report.figure(&format!("{disk}/{tasks}/{name}/ratio"), median / plain);
                cells.push(ratio(median / plain));
            }
        }
        table.row(cells);
    }
}

fn plot(disk: &str, waits_for_disk: bool, slots: &[Slot], report: &mut Report) {
    let line = |kind: Case| {
        let same = slots.iter().filter(|slot| slot.case.name == kind.name);
        (
            kind.name.to_owned(),
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
