//! Runs tasks that call without a pause, in short slices of time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::PgPool;

use super::Bench;
use crate::Fault;
use crate::cases::Case;
use crate::deed::Stage;
use crate::numbers::{Sample, float};
use crate::processor::Processor;
use crate::server::{Database, Way};

/// One case by one number of tasks, each with its own connection.
pub(super) struct Slot {
    pub(super) tasks: u32,
    pub(super) case: Case,
    pub(super) pool: PgPool,
    /// Calls a second.
    pub(super) rate: Sample,
    /// Processor time of a call, in microseconds.
    pub(super) server: Sample,
    pub(super) client: Sample,
}

impl Slot {
    pub(super) fn new(database: &Database, tasks: u32, case: Case, waits_for_disk: bool) -> Self {
        Self {
            tasks,
            case,
            pool: database.pool(Way {
                path: case.path,
                waits_for_disk,
                connections: tasks,
                wire: None,
            }),
            rate: Sample::default(),
            server: Sample::default(),
            client: Sample::default(),
        }
    }

    /// Returns the processor time of a call, of server and client.
    pub(super) fn both(&self) -> f64 {
        self.server.median() + self.client.median()
    }
}

pub(super) fn slice(bench: &Bench<'_>) -> Duration {
    Duration::from_millis(if bench.options.quick { 100 } else { 250 })
}

/// Runs a slice of each slot, in a random order each round.
pub(super) async fn measure(
    bench: &mut Bench<'_>,
    database: &Database,
    stage: &Arc<Stage>,
    slots: &mut [Slot],
    rounds: usize,
) -> Result<(), Fault> {
    let slice = slice(bench);
    for slot in &*slots {
        // Opens the connections and prepares their statements.
        call(stage, slot, slice).await?;
    }
    let processor = Processor::of(database).await?;
    for _ in 0..rounds {
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
    Ok(())
}

/// Runs the calls of one slice. Each task calls again as soon as its last call returns.
async fn call(stage: &Arc<Stage>, slot: &Slot, slice: Duration) -> Result<usize, Fault> {
    let begun = Instant::now();
    let tasks: Vec<_> = (0..slot.tasks)
        .map(|_| {
            let (stage, pool, deed) = (Arc::clone(stage), slot.pool.clone(), slot.case.deed);
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

pub(super) async fn close(slots: Vec<Slot>) {
    for slot in slots {
        slot.pool.close().await;
    }
}

/// Returns the slot that this one is compared with.
pub(super) fn compared<'a>(slots: &'a [Slot], slot: &Slot) -> Option<&'a Slot> {
    let mut same = slots.iter().filter(|other| other.tasks == slot.tasks);
    same.find(|other| other.case.name == slot.case.against)
}
