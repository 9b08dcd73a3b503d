//! A process of callers, each of which retries its call until it is answered.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use idem_messaging::outbox::OutboxError;
use idem_tests::torture::client::polled;
use idem_tests::torture::{Fault, choice};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::calls::{Call, Fate};
use super::desk::{Desk, DeskError};
use super::engine::Engine;
use super::errand::{Errand, told_to_end};
use super::fact::named;

/// The number of callers in a process.
pub const CALLERS: u64 = 4;
/// How long a caller waits for the answer to one try, since a link can lose it.
const ANSWER: Duration = Duration::from_secs(2);
/// A call with this many tries never ends.
const TRIES: u64 = 5_000;
/// How long a call is held up at the most while the consumers lag behind.
const HELD_UP: Duration = Duration::from_millis(250);

/// The ending of the file that has one byte for each answered call of a caller.
pub const ANSWERS: &str = "answers";
/// The ending of the file that has a line for each answer that no caller may get.
pub const FORBIDDEN: &str = "forbidden";

/// Runs the callers to their end, or until the standard input is closed.
///
/// # Errors
///
/// Returns errors of the logs, and calls that are never answered.
pub async fn run<E: Engine>(errand: Errand) -> Result<(), Fault> {
    let desk = E::pool(&errand.url, 6)?;
    let errand = Arc::new(errand);
    let answered = Arc::new(AtomicU64::new(0));
    let lag = watch::Sender::new(0);
    let ended = told_to_end();
    let mut callers = JoinSet::new();
    for n in 0..CALLERS {
        let number = errand.number * CALLERS + n;
        let caller = Caller {
            number,
            desk: desk.clone(),
            seed: choice(errand.seed, number),
            errand: Arc::clone(&errand),
            answered: Arc::clone(&answered),
            lag: lag.subscribe(),
            ended: ended.clone(),
        };
        callers.spawn(caller.work());
    }
    let mut beside = JoinSet::new();
    beside.spawn(measure(desk, lag));
    while let Some(outcome) = callers.join_next().await {
        outcome??;
    }
    Ok(())
}

/// Measures again and again by how much the consumers lag behind.
async fn measure<D: Desk>(desk: D, lag: watch::Sender<i64>) {
    loop {
        if let Ok(Ok(backlog)) = timeout(ANSWER, desk.backlog()).await {
            lag.send_replace(backlog);
        }
        sleep(HELD_UP).await;
    }
}

struct Caller<D> {
    number: u64,
    desk: D,
    seed: u64,
    errand: Arc<Errand>,
    answered: Arc<AtomicU64>,
    lag: watch::Receiver<i64>,
    ended: watch::Receiver<bool>,
}

impl<D: Desk> Caller<D> {
    async fn work(mut self) -> Result<(), Fault> {
        let log = self.file(ANSWERS);
        let before = answers(&log)?;
        self.report(before)?;
        let callers = self.errand.of * CALLERS;
        for index in before..self.errand.calls {
            let most = self.errand.lag;
            let kept_up = self.lag.wait_for(|lag| *lag <= most);
            let _ = timeout(HELD_UP, kept_up).await;
            if *self.ended.borrow() {
                break;
            }
            let call = Call::chosen(self.number, callers, index);
            self.until_answered(&call, index).await?;
            append(&log, ".")?;
            self.report(1)?;
        }
        Ok(())
    }

    async fn until_answered(&self, call: &Call, index: u64) -> Result<(), Fault> {
        for tried in 0..TRIES {
            match self.once(call, index, tried).await {
                Some(Ok(_)) => return Ok(()),
                Some(Err(error)) if is_forbidden(&error) => {
                    let line = format!("{}: {error:?}\n", call.key);
                    return Ok(append(&self.file(FORBIDDEN), &line)?);
                }
                Some(Err(_)) | None => {}
            }
            // The caller's back-off. No test synchronises on it.
            sleep(Duration::from_millis(choice(self.seed, index ^ tried) % 16)).await;
        }
        Err(format!("{} is never answered", call.key).into())
    }

    /// Makes one try. Returns nothing if the call was dropped.
    async fn once(&self, call: &Call, index: u64, tried: u64) -> Option<Result<i64, DeskError>> {
        let key = match named(&call.key) {
            Ok(key) => key,
            Err(error) => return Some(Err(error.into())),
        };
        let fate = Fate::of(self.seed, index, tried);
        let chance = choice(self.seed ^ tried, index * 8 + 5);
        let patience = chance.is_multiple_of(16).then_some(1 + (chance >> 8) % 24);
        let posted = self.desk.post(&key, &call.asked, fate);
        let outcome = timeout(ANSWER, polled(posted, patience)).await.ok()??;
        Some(outcome.map(|number| *number))
    }

    /// Reports the number of answered calls to the arena, on a line.
    fn report(&self, more: u64) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let answered = self.answered.fetch_add(more, Ordering::SeqCst) + more;
        writeln!(out, "{answered}")?;
        out.flush()
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.errand.logs.join(format!("{}.{ending}", self.number))
    }
}

/// Returns whether no caller may get this answer.
fn is_forbidden(error: &DeskError) -> bool {
    match error {
        DeskError::Idempotency(error) => !error.is_retryable(),
        DeskError::Outbox(OutboxError::Database(_))
        | DeskError::Database(_)
        | DeskError::OnPurpose => false,
        _ => true,
    }
}

/// Returns the number of answered calls of a caller.
///
/// # Errors
///
/// Returns errors of the file system.
pub fn answers(log: &Path) -> io::Result<u64> {
    match log.metadata() {
        Ok(found) => Ok(found.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// Appends by one write, so that a killed process leaves all of it or nothing.
fn append(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(text.as_bytes())
}
