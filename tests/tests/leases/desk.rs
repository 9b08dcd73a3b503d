//! The effect outside the database: a desk at which mails are handed in.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use idem_runtime::{Attempt, Error, Failure, IdempotencyKey, StoredFailure, idempotent};
use idem_tests::patience::in_time;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sent {
    pub(crate) number: i32,
    /// JSON has no such map keys: a result with this field set cannot be stored.
    pub(crate) odd: BTreeMap<(u8, u8), u8>,
}

#[derive(Debug, thiserror::Error, Failure)]
pub(crate) enum MailError {
    #[error("bounced with {code}")]
    #[failure(permanent)]
    Bounced { code: u32 },
    #[error("the relay is out of reach")]
    OutOfReach,
    #[error(transparent)]
    Idempotency(#[from] Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

impl MailError {
    /// Returns the library's refusal; panics for any other error.
    pub(crate) fn refusal(self) -> Error {
        match self {
            Self::Idempotency(error) => error,
            other => panic!("not a refusal of the library: {other:?}"),
        }
    }
}

/// The action of a body after the mail is handed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Succeed,
    /// Waits at the gate, then succeeds.
    Wait,
    /// Waits at the gate, then fails.
    WaitToFail,
    Bounce,
    Fail,
    /// Fails, and reports that the mail may have been sent.
    Doubt,
    Panic,
    Unstorable,
}

/// The desk. Clones are the same desk.
#[derive(Debug, Clone)]
pub(crate) struct Desk(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The actions of the next bodies; a body without an entry succeeds.
    script: Mutex<VecDeque<Then>>,
    /// The mails handed in: the number of the attempt, and its external key.
    mails: Mutex<Vec<(i32, String)>>,
    /// The attempts at the gate.
    attempts: Mutex<Vec<Attempt>>,
    reached: Semaphore,
    gate: Semaphore,
}

impl Desk {
    pub(crate) fn new(script: &[Then]) -> Self {
        Self(Arc::new(Inner {
            script: Mutex::new(script.iter().copied().collect()),
            mails: Mutex::default(),
            attempts: Mutex::default(),
            reached: Semaphore::new(0),
            gate: Semaphore::new(0),
        }))
    }

    pub(crate) fn mails(&self) -> Vec<(i32, String)> {
        lock(&self.0.mails).clone()
    }

    /// Returns the number of bodies so far.
    pub(crate) fn count(&self) -> usize {
        lock(&self.0.mails).len()
    }

    /// Waits for a body at the gate and returns its attempt.
    pub(crate) async fn reached(&self) -> Attempt {
        let reached = self.0.reached.acquire();
        let reached = in_time("no body came to the desk: its call was refused", reached).await;
        reached.expect("it is never closed").forget();
        lock(&self.0.attempts).pop().expect("it came with one")
    }

    /// Lets one body pass the gate.
    pub(crate) fn open(&self) {
        self.0.gate.add_permits(1);
    }

    /// The body of every handler here.
    pub(crate) async fn deliver(&self, attempt: &Attempt) -> Result<Sent, MailError> {
        let mail = (attempt.number(), attempt.external_key());
        lock(&self.0.mails).push(mail);
        let then = lock(&self.0.script).pop_front().unwrap_or(Then::Succeed);
        let mut sent = Sent {
            number: attempt.number(),
            odd: BTreeMap::new(),
        };
        match then {
            Then::Succeed => {}
            Then::Wait | Then::WaitToFail => {
                lock(&self.0.attempts).push(attempt.clone());
                self.0.reached.add_permits(1);
                let gate = self.0.gate.acquire().await;
                gate.expect("it is never closed").forget();
                if then == Then::WaitToFail {
                    return Err(MailError::OutOfReach);
                }
            }
            Then::Bounce => return Err(MailError::Bounced { code: 550 }),
            Then::Fail => return Err(MailError::OutOfReach),
            Then::Doubt => {
                attempt.outcome_unknown();
                return Err(MailError::OutOfReach);
            }
            Then::Panic => panic!("at the desk"),
            Then::Unstorable => {
                sent.odd.insert((1, 2), 3);
            }
        }
        Ok(sent)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a unique key.
pub(crate) fn fresh_key() -> IdempotencyKey {
    let text = Uuid::new_v4().to_string();
    text.parse::<IdempotencyKey>()
        .expect("a UUID is a key")
        .global()
}

/// Sends under `on_lapse = "retry"`.
#[idempotent(
    namespace = "mail",
    operation = "send",
    lease = "5m",
    on_lapse = "retry",
    failures = "record",
    skip(desk)
)]
pub(crate) async fn send_again(
    attempt: &Attempt,
    key: &IdempotencyKey,
    to: String,
    desk: Desk,
) -> Result<Sent, MailError> {
    assert!(!key.as_str().is_empty() && !to.is_empty());
    desk.deliver(attempt).await
}

/// Sends under `on_lapse = "unknown"`.
#[idempotent(
    namespace = "mail",
    operation = "send",
    lease = "5m",
    failures = "record",
    skip(desk)
)]
pub(crate) async fn send_once(
    attempt: &Attempt,
    key: IdempotencyKey,
    to: String,
    desk: Desk,
) -> Result<Sent, MailError> {
    assert!(!key.as_str().is_empty() && !to.is_empty());
    desk.deliver(attempt).await
}

/// Sends, and a duplicate waits.
#[idempotent(
    namespace = "mail",
    operation = "send",
    lease = "5m",
    on_conflict = "wait",
    wait = "1m",
    skip(desk)
)]
pub(crate) async fn send_waiting(
    attempt: &Attempt,
    key: Option<&IdempotencyKey>,
    to: String,
    desk: Desk,
) -> Result<Sent, MailError> {
    assert!(key.is_some() && !to.is_empty());
    desk.deliver(attempt).await
}

/// The recipient of all mails.
pub(crate) fn ada() -> String {
    "ada@example.org".to_owned()
}
