//! A whole run: clients, the nemesis, and the final state.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::Fault;
use super::client::{CALLERS, Errand};
use super::engine::{Engine, Tables};
use super::history::History;
use super::laws::{Violation, violations};
use super::link::HOLD;
use super::nemesis::{Blow, blow};
use super::planted::Planted;

/// The number of client processes.
pub const CLIENTS: u64 = 4;
/// Without any answer for this long, the run counts as stuck.
const STALLED: Duration = Duration::from_mins(2);

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
    arena.close().await?;
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
    engine: &'static str,
    errand: Errand,
    clients: Vec<Child>,
    /// The number of answers, by client.
    answers: watch::Sender<Vec<u64>>,
    deadline: Option<Instant>,
}

impl<'p> Arena<'p> {
    fn open<E: Engine>(engine: &E, plan: &'p Plan, logs: &Path) -> io::Result<Self> {
        let calls = plan.calls.div_ceil(CLIENTS * CALLERS);
        let mut arena = Self {
            plan,
            engine: E::NAME,
            errand: Errand {
                url: engine.url(),
                logs: logs.to_owned(),
                client: 0,
                seed: plan.seed,
                calls,
                // Each key is called about four times. A short run still has some keys.
                keys: (plan.calls / 4).max(40),
                planted: plan.planted,
                peace: plan.blows == 0
                    && matches!(plan.planted, Planted::Nothing | Planted::HeartbeatsShared),
            },
            clients: Vec::new(),
            answers: watch::Sender::new(vec![0; usize::try_from(CLIENTS).unwrap_or(0)]),
            deadline: plan.limit.map(|limit| Instant::now() + limit),
        };
        for n in 0..CLIENTS {
            let client = arena.client(n)?;
            arena.clients.push(client);
        }
        Ok(arena)
    }

    /// Starts the client with this number, for the first time or after it was killed.
    fn client(&self, n: u64) -> io::Result<Child> {
        let errand = Errand {
            client: n,
            ..self.errand.clone()
        };
        let mut child = Command::new(&self.plan.program)
            .args(["client", self.engine])
            .args(errand.arguments())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let Some(stdout) = child.stdout.take() else {
            return Err(io::Error::other("a client without an output"));
        };
        let (answers, n) = (self.answers.clone(), usize::try_from(n).unwrap_or(0));
        tokio::spawn(async move {
            let mut lines = BufReader::new(stdout).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if let Ok(answered) = line.parse() {
                    answers.send_modify(|answers| answers[n] = answered);
                }
            }
        });
        Ok(child)
    }

    /// Causes each fault at its moment, and waits for the last answer.
    async fn fight<E: Engine>(&mut self, engine: &E) -> Result<BTreeMap<String, u64>, Fault> {
        let mut dealt = BTreeMap::new();
        let all = self.errand.calls * CLIENTS * CALLERS;
        for n in 0..self.plan.blows {
            let Some((moment, blow, victim)) =
                blow(self.plan.seed, n, all, self.plan.blows, E::BLOWS)
            else {
                break;
            };
            if !self.answered(moment).await {
                return Ok(dealt);
            }
            match blow {
                Blow::KillClient => self.kill(victim % CLIENTS).await?,
                Blow::KillAll => {
                    for client in &mut self.clients {
                        client.start_kill()?;
                    }
                    for n in 0..CLIENTS {
                        self.kill(n).await?;
                    }
                }
                Blow::Freeze => self.freeze(victim % CLIENTS).await?,
                blow => engine.strike(blow).await?,
            }
            if blow.hits_at_once() {
                *dealt.entry(blow.to_string()).or_default() += 1;
            }
        }
        self.answered(all).await;
        Ok(dealt)
    }

    /// Waits until this many calls are answered. Returns false if that cannot happen.
    async fn answered(&self, moment: u64) -> bool {
        let mut answers = self.answers.subscribe();
        loop {
            if answers.borrow_and_update().iter().sum::<u64>() >= moment {
                return true;
            }
            let left = self.deadline.map_or(STALLED, |deadline| {
                deadline.saturating_duration_since(Instant::now())
            });
            match timeout(left.min(STALLED), answers.changed()).await {
                Ok(Ok(())) => {}
                // The time is up, no call is answered any more, or no client is left.
                Ok(Err(_)) | Err(_) => return false,
            }
        }
    }

    async fn kill(&mut self, n: u64) -> Result<(), Fault> {
        let index = usize::try_from(n)?;
        self.clients[index].kill().await?;
        self.clients[index] = self.client(n)?;
        Ok(())
    }

    async fn freeze(&self, n: u64) -> Result<(), Fault> {
        let Some(process) = self.clients[usize::try_from(n)?].id() else {
            return Ok(());
        };
        signal("-STOP", process).await?;
        sleep(HOLD).await;
        signal("-CONT", process).await?;
        Ok(())
    }

    /// Lets every caller finish its call, and waits for all.
    async fn close(self) -> io::Result<()> {
        for mut client in self.clients {
            drop(client.stdin.take());
            match timeout(STALLED, client.wait()).await {
                Ok(ended) => {
                    if !ended?.success() {
                        // The call that it could not end is in its log without an answer.
                        eprintln!("a client has failed");
                    }
                }
                Err(_) => client.kill().await?,
            }
        }
        Ok(())
    }
}

async fn signal(name: &str, process: u32) -> io::Result<ExitStatus> {
    let command = format!("kill {name} {process}");
    Command::new("sh").args(["-c", &command]).status().await
}
