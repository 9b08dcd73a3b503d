//! A client process: several callers, each of which retries its call until it is answered.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;
use std::{fmt, future, panic, thread};

use idem_runtime::{Error, fast_check};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};

use super::answer::answer;
use super::calls::{Call, Done, Fate, Refused};
use super::engine::Engine;
use super::handlers::{Asking, Bank, ON_PURPOSE};
use super::history::{Answer, Event, Log};
use super::notices::{Lapse, Outside};
use super::notifiers::{fill, notify, outlive};
use super::planted::Planted;
use super::{Fault, choice};

/// The number of callers in one client.
pub const CALLERS: u64 = 4;
/// How long a caller waits for the answer to one try, since a link can lose it.
const ANSWER: Duration = Duration::from_secs(2);
/// A call with this many tries never ends.
const TRIES: u64 = 5_000;

/// The task of a client.
#[derive(Clone, Debug)]
pub struct Errand {
    /// The database.
    pub url: String,
    /// The directory of the callers' logs.
    pub logs: PathBuf,
    /// The client's number.
    pub client: u64,
    /// The run's seed.
    pub seed: u64,
    /// The number of calls of each caller.
    pub calls: u64,
    /// The number of keys.
    pub keys: u64,
    /// The fault that is planted in its handlers.
    pub planted: Planted,
    /// Whether no nemesis is about, so that a lease may not lapse.
    pub peace: bool,
}

impl Errand {
    /// Returns the task as process arguments, in the order of [`parse`](Self::parse).
    pub fn arguments(&self) -> [String; 8] {
        [
            self.url.clone(),
            self.logs.display().to_string(),
            self.client.to_string(),
            self.seed.to_string(),
            self.calls.to_string(),
            self.keys.to_string(),
            format!("{:?}", self.planted),
            self.peace.to_string(),
        ]
    }

    /// Reads the task from process arguments.
    ///
    /// # Errors
    ///
    /// Returns an error if they are not those of [`arguments`](Self::arguments).
    pub fn parse(arguments: &[String]) -> Result<Self, Fault> {
        let [url, logs, client, seed, calls, keys, planted, peace] = arguments else {
            return Err("a client needs URL LOGS CLIENT SEED CALLS KEYS PLANTED PEACE".into());
        };
        Ok(Self {
            url: url.clone(),
            logs: logs.into(),
            client: client.parse()?,
            seed: seed.parse()?,
            calls: calls.parse()?,
            keys: keys.parse()?,
            planted: Planted::named(planted).ok_or("there is no planted fault of this name")?,
            peace: peace.parse()?,
        })
    }
}

/// The number of answered calls of this client, and whether it should continue.
#[derive(Default)]
struct Shift {
    answered: AtomicU64,
    over: AtomicBool,
}

impl Shift {
    /// Reports the number of answered calls to the arena, on a line.
    fn report(&self, more: u64) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let answered = self.answered.fetch_add(more, Ordering::SeqCst) + more;
        writeln!(out, "{answered}")?;
        out.flush()
    }
}

/// Runs the callers to their end, or until the standard input is closed.
///
/// # Errors
///
/// Returns errors of the logs, and calls that are never answered.
pub async fn run<E: Engine>(errand: Errand) -> Result<(), Fault> {
    // One client in four has no fast check, so that the database alone decides.
    fast_check::set(errand.client % 4 != 3);
    keep_silent_on_purpose();
    let shift = Arc::new(Shift::default());
    let watched = Arc::clone(&shift);
    thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        watched.over.store(true, Ordering::SeqCst);
    });
    let bank = E::bank(&errand.url)?;
    let errand = Arc::new(errand);
    let mut callers = JoinSet::new();
    for n in 0..CALLERS {
        let path = errand.logs.join(format!("{}-{n}.log", errand.client));
        let (log, answered) = Log::resume(&path)?;
        shift.report(answered)?;
        let caller = Caller {
            bank: bank.clone(),
            seed: choice(errand.seed, errand.client * CALLERS + n),
            errand: Arc::clone(&errand),
            shift: Arc::clone(&shift),
            log,
        };
        callers.spawn(caller.work(answered));
    }
    // These run beside the callers. One client in four is short of connections.
    let mut beside = JoinSet::new();
    for lapse in [Lapse::Unknown, Lapse::Retry] {
        let outside = Outside::beside(&errand.logs);
        let seed = choice(errand.seed, errand.client);
        beside.spawn(notify(bank.clone(), outside, lapse, seed, errand.planted));
    }
    // And one to its end.
    let mut leased = JoinSet::new();
    if errand.peace && errand.client % 4 == 2 {
        let outside = Outside::beside(&errand.logs);
        leased.spawn(outlive(bank.clone(), outside, errand.planted));
    }
    if errand.client % 4 == 1 {
        beside.spawn(async move {
            fill(bank).await;
            Ok(())
        });
    }
    while let Some(outcome) = callers.join_next().await {
        outcome??;
    }
    while let Some(outcome) = leased.join_next().await {
        outcome??;
    }
    Ok(())
}

struct Caller<B> {
    bank: B,
    seed: u64,
    errand: Arc<Errand>,
    shift: Arc<Shift>,
    log: Log,
}

impl<B: Bank> Caller<B> {
    async fn work(mut self, answered: u64) -> Result<(), Fault> {
        for index in answered..self.errand.calls {
            if self.shift.over.load(Ordering::SeqCst) {
                break;
            }
            let call = Call::chosen(self.seed, index, self.errand.calls, self.errand.keys);
            let key = format!("key-{}", call.key);
            self.log.write(&Event::Called {
                index,
                key: key.clone(),
                asked: call.asked,
            })?;
            let mut tries = BTreeMap::new();
            let mut before = 0;
            let answer = loop {
                match self.once(&key, call, index, before).await {
                    Ok(answer) => break answer,
                    Err(why) => *tries.entry(why).or_default() += 1,
                }
                before += 1;
                if before > TRIES {
                    return Err(format!("{key} is never answered: {tries:?}").into());
                }
                // The caller's back-off. No test synchronises on it.
                sleep(Duration::from_millis(
                    choice(self.seed, index ^ before) % 16,
                ))
                .await;
            };
            self.log.write(&Event::Answered { answer, tries })?;
            self.shift.report(1)?;
        }
        Ok(())
    }

    /// Makes one try. Returns an answer, or the reason why there is none.
    async fn once(&self, key: &str, call: Call, index: u64, tried: u64) -> Result<Answer, String> {
        let fate = call.fate(self.seed, index, tried);
        let asking = Asking {
            key: key.to_owned(),
            asked: call.asked,
            way: call.way,
            fate,
        };
        let (bank, planted) = (self.bank.clone(), self.errand.planted);
        let patience = Call::patience(self.seed, index, tried);
        // Runs in a separate task, so that a panic ends the try and not the caller.
        let mut task = JoinSet::new();
        task.spawn(polled(
            async move { answer(&bank, planted, asking).await },
            patience,
        ));
        let Ok(Some(outcome)) = timeout(ANSWER, task.join_next()).await else {
            // Dropping the set drops the call at its current await.
            return Err("dropped: no answer in time".to_owned());
        };
        match outcome {
            Ok(Some(outcome)) => reported(outcome, fate),
            Ok(None) => Err("dropped: the caller lost patience".to_owned()),
            Err(error) if on_purpose(&error) => Err("the body panicked".to_owned()),
            Err(error) => Ok(Answer::Forbidden(format!("{error}"))),
        }
    }
}

/// Drops the future after this many polls, if a number is given.
pub async fn polled<F: Future>(future: F, patience: Option<u64>) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut polls = 0;
    future::poll_fn(|context| {
        polls += 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if patience.is_some_and(|patience| polls >= patience) => {
                Poll::Ready(None)
            }
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

fn reported(outcome: Result<(Done, bool), Refused>, fate: Fate) -> Result<Answer, String> {
    match outcome {
        Ok((done, replayed)) => Ok(Answer::Done { done, replayed }),
        Err(Refused::Declined { amount }) => Ok(Answer::Declined { amount }),
        Err(Refused::Idempotency(Error::Mismatch(_))) => Ok(Answer::Mismatch),
        Err(Refused::Idempotency(error)) if error.is_retryable() => Err(name(&error)),
        // The COMMIT was refused because of the body's write. No other COMMIT may be refused.
        Err(Refused::Idempotency(error @ Error::CommitFailed(_)))
            if fate == Fate::RefusedAtCommit =>
        {
            Err(name(&error))
        }
        Err(Refused::Idempotency(error)) => Ok(Answer::Forbidden(format!("{error:?}"))),
        // Any error of the body's own statements and of the caller's own COMMIT.
        Err(Refused::Database(_)) => Err("the database failed in the caller's own part".to_owned()),
        Err(Refused::BankDown) => Err("the bank was down".to_owned()),
    }
}

/// Returns the variant's name.
fn name(error: &impl fmt::Debug) -> String {
    let text = format!("{error:?}");
    let end = text.find(|c: char| !c.is_alphanumeric());
    text[..end.unwrap_or(text.len())].to_owned()
}

fn on_purpose(error: &JoinError) -> bool {
    // The payload can only be read by consuming the error, but the error's text contains its
    // message.
    error.is_panic() && error.to_string().contains(ON_PURPOSE)
}

fn keep_silent_on_purpose() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if info.payload_as_str() != Some(ON_PURPOSE) {
            before(info);
        }
    }));
}
