//! The tasks that call at the same time, from 1 to 128; and the part of calls that are duplicates.

use std::sync::Arc;

use super::super::slices::{self, Slot};
use super::Bench;
use crate::Fault;
use crate::cases::Case;
use crate::deed::{Deed, Stage};
use crate::report::table::{ratio, time, whole};
use crate::report::{Report, Table};
use crate::server::Path;

const TASKS: [u32; 5] = [1, 4, 16, 64, 128];

/// The tasks that call duplicates.
const CALLERS: u32 = 8;

const ROUNDS: usize = 12;

const PLAIN: Case = case("plain", Deed::PlainOne);
const FUSED: Case = case("fused", Deed::One);

const fn case(name: &'static str, deed: Deed) -> Case {
    Case {
        name,
        deed,
        path: Path::Fused,
        against: "plain",
    }
}

pub(super) async fn run(bench: &mut Bench<'_>, report: &mut Report) -> Result<(), Fault> {
    let database = bench.server.database("growth_tasks").await?;
    let stage = Arc::new(Stage::bare());
    let rounds = bench.options.scaled(ROUNDS);
    let mut table = Table::new(
        "Calls a second by tasks, each with a connection; fsync",
        &[
            "tasks",
            "plain",
            "fused",
            "ratio",
            "server's processor, plain",
            "fused",
            "ratio",
        ],
    );
    for tasks in TASKS {
        let mut slots = [PLAIN, FUSED].map(|case| Slot::new(&database, tasks, case, true));
        slices::measure(bench, &database, &stage, &mut slots, rounds).await?;
        let [plain, fused] = &slots;
        let found = fused.rate.median() / plain.rate.median();
        let server = fused.server.median() / plain.server.median();
        report.figure(&format!("tasks/{tasks}/ratio"), found);
        report.figure(&format!("tasks/{tasks}/server/ratio"), server);
        for slot in &slots {
            report.sample(&format!("tasks/{tasks}/{}", slot.case.name), &slot.rate);
        }
        table.row(vec![
            tasks.to_string(),
            whole(plain.rate.median()),
            whole(fused.rate.median()),
            ratio(found),
            time(plain.server.median()),
            time(fused.server.median()),
            ratio(server),
        ]);
        slices::close(slots.into()).await;
    }
    report.tables.push(table);
    Ok(())
}

/// Of ten calls, so many are replays.
const REPLAYS: [usize; 4] = [0, 1, 5, 9];

pub(super) async fn duplicates(bench: &mut Bench<'_>, report: &mut Report) -> Result<(), Fault> {
    let database = bench.server.database("growth_duplicates").await?;
    let stage = Arc::new(Stage::set(&database).await?);
    let rounds = bench.options.scaled(ROUNDS);
    let mixed = |elsewhere| {
        REPLAYS.map(|replays| {
            let deed = Deed::Mixed { replays, elsewhere };
            Slot::new(&database, CALLERS, case("mixed", deed), true)
        })
    };
    let mut slots = vec![Slot::new(&database, CALLERS, PLAIN, true)];
    slots.extend([false, true].into_iter().flat_map(mixed));
    slices::measure(bench, &database, &stage, &mut slots, rounds).await?;
    let mut table = Table::new(
        &format!(
            "Calls a second by the part that are duplicates, {CALLERS} tasks, fsync; plain pays each time: {}",
            whole(slots[0].rate.median())
        ),
        &[
            "duplicates",
            "of this process",
            "over plain",
            "server's processor",
            "of another process",
            "over plain",
            "server's processor",
        ],
    );
    let plain = slots[0].rate.median();
    for (index, replays) in REPLAYS.into_iter().enumerate() {
        let mut cells = vec![format!("{} %", 10 * replays)];
        for (first, name) in [(1, "this process"), (1 + REPLAYS.len(), "another process")] {
            let slot = &slots[first + index];
            let found = slot.rate.median() / plain;
            report.figure(&format!("duplicates/{replays} of 10/{name}/ratio"), found);
            cells.extend([
                whole(slot.rate.median()),
                ratio(found),
                time(slot.server.median()),
            ]);
        }
        table.row(cells);
    }
    slices::close(slots).await;
    report.tables.push(table);
    Ok(())
}
