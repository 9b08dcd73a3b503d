//! A whole run: clients, the nemesis, and the final state.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::Fault;
use super::client::{CALLERS, Errand};
use super::crew::Crew;
use super::engine::{Engine, Tables};
use super::history::History;
use super::laws::{Violation, violations};
use super::link::HOLD;
use super::nemesis::{Blow, blow};
use super::planted::Planted;

/// The number of client processes.
pub const CLIENTS: u64 = 4;

/// The plan of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed of every choice.
    pub seed: u64,
    /// The number of calls of all callers together.
    pub calls: u64,
    /// The number of faults that the nemesis causes.
    pub blows: u64,
    /// The time after which the run stops even if calls are left.
    pub limit: Option<Duration>,
    /// The fault that is planted in the handlers.
    pub planted: Planted,
    /// The program that becomes a client if its first argument is `client`.
    pub program: PathBuf,
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// What the callers saw.
    pub history: History,
    /// The final state of the tables.
    pub tables: Tables,
    /// The faults that took effect, by kind.
    pub blows: BTreeMap<String, u64>,
    /// The laws that are broken.
    pub violations: Vec<Violation>,
    /// How long the clients ran.
    pub took: Duration,
    /// The logs; removed with this value.
    pub logs: TempDir,
}

/// Runs clients and nemesis, and reads the final state.
///
/// # Errors
///
/// Returns errors of the run itself, such as a server that does not start or a missing program. A
/// client that fails is a violation instead, because its call has no answer.
pub async fn run<E: Engine>(plan: &Plan) -> Result<Outcome, Fault> {
    let engine = E::start(plan.planted).await?;
    let logs = tempfile::Builder::new().prefix("idem-torture-").tempdir()?;
    let begun = Instant::now();
    let mut arena = Arena::open::<E>(&engine, plan, logs.path())?;
    let mut blows = arena.fight(&engine).await?;
    let everybody = 0..arena.clients.len();
    // Every caller finishes its call.
    arena.clients.close(everybody).await?;
    let took = begun.elapsed();
    blows.extend(engine.hits());
    let history = History::read_all(logs.path())?;
    let tables = engine.tables().await?;
    Ok(Outcome {
        violations: violations(&history, &tables),
        history,
        tables,
        blows,
        took,
        logs,
    })
}

struct Arena<'p> {
    plan: &'p Plan,
    /// The number of calls of each caller.
    calls: u64,
    clients: Crew,
}

impl<'p> Arena<'p> {
    fn open<E: Engine>(engine: &E, plan: &'p Plan, logs: &Path) -> Result<Self, Fault> {
        let calls = plan.calls.div_ceil(CLIENTS * CALLERS);
        let mut clients = Crew::new(plan.program.clone(), plan.limit);
        for client in 0..CLIENTS {
            let errand = Errand {
                url: engine.url(),
                logs: logs.to_owned(),
                client,
                seed: plan.seed,
                calls,
                // Each key is called about four times. A short run still has some keys.
                keys: (plan.calls / 4).max(40),
                planted: plan.planted,
                peace: plan.blows == 0
                    && matches!(plan.planted, Planted::Nothing | Planted::HeartbeatsShared),
            };
            let mode = ["client", E::NAME].map(str::to_owned);
            clients.start(mode.into_iter().chain(errand.arguments()).collect())?;
        }
        Ok(Self {
            plan,
            calls,
            clients,
        })
    }

    /// Causes each fault at its moment, and waits for the last answer.
    async fn fight<E: Engine>(&mut self, engine: &E) -> Result<BTreeMap<String, u64>, Fault> {
        let mut dealt = BTreeMap::new();
        let all = self.calls * CLIENTS * CALLERS;
        for n in 0..self.plan.blows {
            let Some((moment, blow, victim)) =
                blow(self.plan.seed, n, all, self.plan.blows, E::BLOWS)
            else {
                break;
            };
            if !self.clients.reached(moment).await {
                return Ok(dealt);
            }
            let victim = usize::try_from(victim % CLIENTS)?;
            match blow {
                Blow::KillClient => self.clients.kill(victim..victim + 1).await?,
                Blow::KillAll => self.clients.kill(0..self.clients.len()).await?,
                Blow::Freeze => self.clients.freeze(victim, HOLD).await?,
                blow => engine.strike(blow).await?,
            }
            if blow.hits_at_once() {
                *dealt.entry(blow.to_string()).or_default() += 1;
            }
        }
        self.clients.reached(all).await;
        Ok(dealt)
    }
}
