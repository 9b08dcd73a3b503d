//! The processes of a run: each is started, killed, stopped and started again, and reports a count.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::Fault;

/// Without any new count for this long, the run counts as stuck.
const STALLED: Duration = Duration::from_mins(2);

/// The processes, by number in the order of their start.
///
/// A process prints a count on a line whenever it has grown, and ends once its standard input is closed.
#[derive(Debug)]
pub struct Crew {
    program: PathBuf,
    members: Vec<Member>,
    /// The last count of each process.
    counts: watch::Sender<Vec<u64>>,
    deadline: Option<Instant>,
}

#[derive(Debug)]
struct Member {
    arguments: Vec<String>,
    child: Child,
}

impl Crew {
    /// Creates a crew of no process. Its processes run `program`, and are waited for until `limit` is over.
    pub fn new(program: PathBuf, limit: Option<Duration>) -> Self {
        Self {
            program,
            members: Vec::new(),
            counts: watch::Sender::default(),
            deadline: limit.map(|limit| Instant::now() + limit),
        }
    }

    /// Starts a process more.
    ///
    /// # Errors
    ///
    /// Returns an error if the program cannot be run.
    pub fn start(&mut self, arguments: Vec<String>) -> io::Result<()> {
        let n = self.members.len();
        self.counts.send_modify(|counts| counts.push(0));
        let child = self.spawn(n, &arguments)?;
        self.members.push(Member { arguments, child });
        Ok(())
    }

    fn spawn(&self, n: usize, arguments: &[String]) -> io::Result<Child> {
        let mut child = Command::new(&self.program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let Some(stdout) = child.stdout.take() else {
            return Err(io::Error::other("a process without an output"));
        };
        let counts = self.counts.clone();
        tokio::spawn(async move {
            let mut lines = BufReader::new(stdout).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if let Ok(count) = line.parse() {
                    counts.send_modify(|counts| counts[n] = count);
                }
            }
        });
        Ok(child)
    }

    /// Waits until the counts add up to this number. Returns false if that cannot happen.
    pub async fn reached(&self, sum: u64) -> bool {
        let mut counts = self.counts.subscribe();
        loop {
            if counts.borrow_and_update().iter().sum::<u64>() >= sum {
                return true;
            }
            let left = self.deadline.map_or(STALLED, |deadline| {
                deadline.saturating_duration_since(Instant::now())
            });
            match timeout(left.min(STALLED), counts.changed()).await {
                Ok(Ok(())) => {}
                // The time is up, nothing is counted any more, or no process is left.
                Ok(Err(_)) | Err(_) => return false,
            }
        }
    }

    /// Kills the processes of these numbers by SIGKILL, all before any is started again.
    ///
    /// # Errors
    ///
    /// Returns an error if one cannot be killed or started.
    pub async fn kill(&mut self, numbers: Range<usize>) -> io::Result<()> {
        for member in &mut self.members[numbers.clone()] {
            member.child.start_kill()?;
        }
        for n in numbers {
            self.members[n].child.wait().await?;
            self.members[n].child = self.spawn(n, &self.members[n].arguments)?;
        }
        Ok(())
    }

    /// Stops a process by SIGSTOP, and continues it by SIGCONT after this time.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be signalled.
    pub async fn freeze(&self, n: usize, time: Duration) -> Result<(), Fault> {
        let Some(process) = self.members[n].child.id() else {
            return Ok(());
        };
        signal("-STOP", process).await?;
        sleep(time).await;
        signal("-CONT", process).await
    }

    /// Lets the processes of these numbers end by themselves, and waits for them.
    ///
    /// # Errors
    ///
    /// Returns an error if one cannot be waited for.
    pub async fn close(&mut self, numbers: Range<usize>) -> io::Result<()> {
        for member in &mut self.members[numbers.clone()] {
            drop(member.child.stdin.take());
        }
        for Member { child, arguments } in &mut self.members[numbers] {
            match timeout(STALLED, child.wait()).await {
                Ok(ended) => {
                    if !ended?.success() {
                        // What it could not do remains in its log as not done.
                        eprintln!("a process has failed: {arguments:?}");
                    }
                }
                Err(_) => child.kill().await?,
            }
        }
        Ok(())
    }

    /// Returns the number of processes.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns whether there is no process.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

async fn signal(name: &str, process: u32) -> Result<(), Fault> {
    let command = format!("kill {name} {process}");
    Command::new("sh").args(["-c", &command]).status().await?;
    Ok(())
}
