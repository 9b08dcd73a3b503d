//! Measures the calls a second by eight tasks, and the processor time of each.

use std::time::{Duration, Instant};

use sqlx::{Connection as _, MySqlConnection, MySqlPool};

use super::case::{CASES, Deed, perform};
use super::{Till, plain_of};
use crate::Fault;
use crate::block::Bench;
use crate::numbers::{Sample, float};
use crate::processor::Processor;
use crate::report::table::{ratio, time, whole};
use crate::report::{Report, Table};

const TASKS: u32 = 8;
const ROUNDS: usize = 16;

/// One case.
struct Slot {
    case: usize,
    pool: MySqlPool,
    /// Calls a second.
    rate: Sample,
    /// Processor time of a call, in microseconds.
    server: Sample,
    client: Sample,
}

pub(super) async fn run(
    bench: &mut Bench<'_>,
    till: &Till,
    report: &mut Report,
) -> Result<(), Fault> {
    let measured = [
        Deed::Plain,
        Deed::Hand,
        Deed::First,
        Deed::Select,
        Deed::HandReplay,
        Deed::Replay,
    ];
    let cases = (0..CASES.len()).filter(|case| measured.contains(&CASES[*case].1));
    let mut slots: Vec<_> = cases
        .map(|case| Slot {
            case,
            pool: till.pool(TASKS, None),
            rate: Sample::default(),
            server: Sample::default(),
            client: Sample::default(),
        })
        .collect();
    let slice = Duration::from_millis(if bench.options.quick { 100 } else { 250 });
    for slot in &slots {
        call(slot, slice).await?;
    }
    let processor = Processor::of_process(process(till).await?);
    for _ in 0..bench.options.scaled(ROUNDS) {
        for index in bench.chance.order(slots.len()) {
            let slot = &mut slots[index];
            let (before, begun) = (processor.elapsed()?, Instant::now());
            let count = float(call(slot, slice).await?);
            slot.rate.push(count / begun.elapsed().as_secs_f64());
            let elapsed = processor.elapsed()?.since(before);
            slot.server.push(elapsed.server.as_secs_f64() * 1e6 / count);
            slot.client.push(elapsed.client.as_secs_f64() * 1e6 / count);
        }
    }
    tabulate(till, &slots, report);
    for slot in slots {
        slot.pool.close().await;
    }
    Ok(())
}

/// Returns the number of the server's process.
async fn process(till: &Till) -> Result<i32, Fault> {
    let mut conn = MySqlConnection::connect_with(&till.options).await?;
    let file: String = sqlx::query_scalar("SELECT @@pid_file")
        .fetch_one(&mut conn)
        .await?;
    conn.close().await?;
    Ok(std::fs::read_to_string(file)?.trim().parse()?)
}

/// Runs the calls of one slice. Each task calls again as soon as its last call returns.
async fn call(slot: &Slot, slice: Duration) -> Result<usize, Fault> {
    let begun = Instant::now();
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let (pool, deed) = (slot.pool.clone(), CASES[slot.case].1);
            tokio::spawn(async move {
                let mut count = 0;
                while begun.elapsed() < slice {
                    perform(deed, &pool).await?;
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

fn tabulate(till: &Till, slots: &[Slot], report: &mut Report) {
    let caption = format!(
        "MariaDB {}: {TASKS} tasks, each with a connection; medians",
        till.version
    );
    let columns = [
        "case",
        "calls a second",
        "of the other",
        "server's processor",
        "over the other's",
        "client's",
        "against",
    ];
    let mut table = Table::new(&caption, &columns);
    for slot in slots {
        let (name, _, against) = CASES[slot.case];
        let other = plain_of(slot.case);
        let other = slots.iter().find(|slot| slot.case == other).unwrap_or(slot);
        let rate = slot.rate.median() / other.rate.median();
        let server = slot.server.median() / other.server.median();
        report.sample(&format!("tasks/{name}"), &slot.rate);
        report.figure(&format!("tasks/{name}/ratio"), rate);
        report.sample(&format!("tasks/{name}/server"), &slot.server);
        report.figure(&format!("tasks/{name}/server/ratio"), server);
        table.row(vec![
            name.to_owned(),
            whole(slot.rate.median()),
            ratio(rate),
            time(slot.server.median()),
            ratio(server),
            time(slot.client.median()),
            against.to_owned(),
        ]);
    }
    report.tables.push(table);
}
