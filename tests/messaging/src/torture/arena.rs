//! A whole run: callers, relays, consumers, the nemesis, and the final state.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use idem_tests::torture::Fault;
use idem_tests::torture::crew::Crew;
use idem_tests::torture::laws::Violation;
use idem_tests::torture::link::{HOLD, Link};
use idem_tests::torture::nemesis::blow;
use tempfile::TempDir;
use tokio::time::sleep;

use super::broker::Broker;
use super::caller::{ANSWERS, CALLERS, FORBIDDEN, answers};
use super::calls::planned;
use super::consumer::ACK_WAIT;
use super::engine::Engine;
use super::errand::Errand;
use super::evidence::Evidence;
use super::laws::violations;
use super::nemesis::{Blow, Role, Wire};
use super::planted::Planted;
use super::relay::LEASE;

/// The processes of each role.
const ROLES: [(Role, Range<usize>); 3] = [
    (Role::Caller, 0..3),
    (Role::Relay, 3..5),
    (Role::Consumer, 5..7),
];

/// The plan of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed of every choice.
    pub seed: u64,
    /// The least number of events.
    pub events: u64,
    /// The number of faults that the nemesis causes.
    pub blows: u64,
    /// The faults among which it chooses.
    pub possible: &'static [Blow],
    /// The time after which the run stops even if calls are left.
    pub limit: Option<Duration>,
    /// Without any progress for this long after the last call, what waits counts as lost.
    pub patience: Duration,
    /// The fault that is planted in the relays.
    pub planted: Planted,
    /// The program that becomes a process if its first argument is `process`.
    pub program: PathBuf,
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// What remains.
    pub evidence: Evidence,
    /// The faults that took effect, by kind.
    pub blows: BTreeMap<String, u64>,
    /// The laws that are broken.
    pub violations: Vec<Violation>,
    /// How long the callers ran, and how long it took from then on until nothing waited.
    pub took: (Duration, Duration),
    /// The logs; removed with this value.
    pub logs: TempDir,
}

/// Runs processes and nemesis, waits until nothing is under way, and reads the final state.
///
/// # Errors
///
/// Returns errors of the run itself, such as a server that does not start or a missing program.
pub async fn run<E: Engine>(plan: &Plan) -> Result<Outcome, Fault> {
    let (engine, broker) = (E::start().await?, Broker::start().await?);
    let logs = tempfile::Builder::new().prefix("idem-torture-").tempdir()?;
    let (calls, events) = planned(plan.events, CALLERS * ROLES[0].1.len() as u64);
    let begun = Instant::now();
    let mut arena = Arena {
        plan,
        calls: calls * CALLERS * ROLES[0].1.len() as u64,
        engine,
        broker,
        crew: Crew::new(plan.program.clone(), plan.limit),
    };
    arena.open(calls, events, logs.path())?;
    let mut blows = arena.fight().await?;
    arena.crew.close(ROLES[0].1.clone()).await?;
    let called = begun.elapsed();
    arena.heal();
    let waiting = arena.drain().await;
    let took = (called, begun.elapsed().saturating_sub(called));
    arena.crew.close(ROLES[1].1.start..ROLES[2].1.end).await?;
    blows.extend(arena.engine.hits());
    blows.extend(arena.broker.hits());
    let evidence = arena.evidence(events, waiting, logs.path()).await?;
    Ok(Outcome {
        violations: violations(&evidence),
        evidence,
        blows,
        took,
        logs,
    })
}

struct Arena<'p, E> {
    plan: &'p Plan,
    /// The number of calls of all callers together.
    calls: u64,
    engine: E,
    broker: Broker,
    crew: Crew,
}

impl<E: Engine> Arena<'_, E> {
    fn open(&mut self, calls: u64, events: u64, logs: &Path) -> Result<(), Fault> {
        for (role, numbers) in ROLES {
            for n in numbers.clone() {
                let errand = Errand {
                    role,
                    number: (n - numbers.start) as u64,
                    of: numbers.len() as u64,
                    url: self.engine.url(role),
                    broker: format!("127.0.0.1:{}", self.broker.link(role).port()),
                    logs: logs.to_owned(),
                    seed: self.plan.seed,
                    calls,
                    // The faults are to meet consumers that have something to do.
                    lag: (events / 10).clamp(60, 600).cast_signed(),
                    planted: self.plan.planted,
                };
                let arguments = ["process", E::NAME, &errand.argument()?];
                self.crew.start(arguments.map(str::to_owned).into())?;
            }
        }
        Ok(())
    }

    /// Causes each fault at its moment, and waits for the last answer.
    async fn fight(&mut self) -> Result<BTreeMap<String, u64>, Fault> {
        let mut dealt = BTreeMap::new();
        let Plan {
            seed,
            blows,
            possible,
            ..
        } = *self.plan;
        for n in 0..blows {
            let Some((moment, blow, victim)) = blow(seed, n, self.calls, blows, possible) else {
                break;
            };
            if !self.crew.reached(moment).await {
                return Ok(dealt);
            }
            self.strike(blow, usize::try_from(victim % 1_000)?).await?;
            if blow.hits_at_once() {
                *dealt.entry(blow.to_string()).or_default() += 1;
            }
        }
        self.crew.reached(self.calls).await;
        Ok(dealt)
    }

    async fn strike(&mut self, blow: Blow, victim: usize) -> Result<(), Fault> {
        match blow {
            Blow::Kill(role) => {
                let n = one_of(role, victim);
                self.crew.kill(n..n + 1).await?;
            }
            Blow::KillAll => self.crew.kill(0..self.crew.len()).await?,
            Blow::Freeze(role) => {
                let time = match role {
                    Role::Caller => HOLD,
                    Role::Relay => LEASE + LEASE / 2,
                    Role::Consumer => ACK_WAIT + ACK_WAIT / 2,
                };
                self.crew.freeze(one_of(role, victim), time).await?;
            }
            Blow::KillBroker => self.broker.kill().await?,
            Blow::Cut(Wire::Database(role)) => self.link_to_database(role)?.cut(),
            Blow::Cut(Wire::Broker(role)) => self.broker.link(role).cut(),
            Blow::Link(Wire::Database(role), point, harm) => {
                self.link_to_database(role)?.arm(point, harm);
            }
            Blow::Link(Wire::Broker(role), point, harm) => self.broker.link(role).arm(point, harm),
            Blow::Terminate | Blow::Crash | Blow::Restart => self.engine.strike(blow).await?,
        }
        Ok(())
    }

    fn link_to_database(&self, role: Role) -> Result<&Link, Fault> {
        let link = self.engine.link(role);
        link.ok_or_else(|| "nothing is between a process and a file".into())
    }

    /// Ends all faults that are still to come.
    fn heal(&self) {
        for (role, _) in ROLES {
            if let Some(link) = self.engine.link(role) {
                link.heal();
            }
            self.broker.link(role).heal();
        }
    }

    /// Waits until every event has left and every message is acknowledged, or nothing is done about it any more. Returns
    /// the number of messages that wait.
    async fn drain(&self) -> u64 {
        let mut last = None;
        let mut changed = Instant::now();
        loop {
            let left = match (self.engine.pending().await, self.broker.waiting().await) {
                (Ok(pending), Ok(waiting)) => Some((pending, waiting)),
                // A consumer may not have been created yet.
                _ => None,
            };
            if left == Some((0, 0)) {
                return 0;
            }
            if left != last {
                (last, changed) = (left, Instant::now());
            }
            if changed.elapsed() > self.plan.patience {
                return left.map_or(u64::MAX, |(_, waiting)| waiting);
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    async fn evidence(&self, events: u64, waiting: u64, logs: &Path) -> Result<Evidence, Fault> {
        let mut evidence = Evidence {
            calls: self.calls,
            events,
            tables: self.engine.tables().await?,
            publications: self.broker.publications().await?,
            letters: self.broker.letters().await?,
            waiting,
            ..Evidence::default()
        };
        for entry in fs::read_dir(logs)? {
            let path = entry?.path();
            match path.extension().and_then(|ending| ending.to_str()) {
                Some(ANSWERS) => evidence.answered += answers(&path)?,
                Some(FORBIDDEN) => evidence.forbidden.extend(lines(&path)?),
                _ => {}
            }
        }
        Ok(evidence)
    }
}

fn lines(path: &Path) -> io::Result<Vec<String>> {
    let text = fs::read_to_string(path)?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Returns the number of one of the processes of a role.
fn one_of(role: Role, chance: usize) -> usize {
    let numbers = ROLES.into_iter().find(|(of, _)| *of == role);
    let numbers = numbers.map_or(0..1, |(_, numbers)| numbers);
    numbers.start + chance % numbers.len()
}
