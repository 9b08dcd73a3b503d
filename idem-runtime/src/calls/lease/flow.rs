//! The order of a leased call (claim, body, end), in a task that its caller only waits for.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::task::Poll;

use sqlx::Pool;
use tokio::sync::{mpsc, oneshot};
use tracing::Instrument as _;

use super::attempt::Attempt;
use super::claim::claim;
use super::drain::CountedRun;
use super::ending::HeldLease;
use super::heartbeat_task;
use super::heartbeats::Heartbeats;
use super::request::{LeasedRequest, TakesOver};
use super::source::LeaseSource;
use crate::calls::kit::answer::Answer;
use crate::calls::kit::backoff::Backoff;
use crate::calls::kit::contract::Contract;
use crate::calls::kit::request::Request;
use crate::calls::kit::review::{
    Entered, Review, answered, apart, approved, denied, is_replay, together,
};
use crate::calls::telemetry::Lapsed;
use crate::decision::{Decision, KeyBefore};
use crate::stores::lease::LeaseBackend;
use crate::values::error::Error;
use crate::values::policy::Lease;
use crate::values::replay::{self, ReplayExt as _, Replayable};

/// A call that is ready to run.
pub struct LeasedCall<DB: LeaseBackend, T, E> {
    pool: Pool<DB>,
    request: LeasedRequest,
    contract: Contract<T, E>,
    attempt_sender: AttemptSender<T, E>,
}

/// The body before it begins, and what it waits for.
type BodyToBegin<T, E> = (AttemptSender<T, E>, Body<T, E>);

type AttemptSender<T, E> = oneshot::Sender<Entered<Attempt, T, E>>;

/// Receives the attempt after the claim, or the replay to review. The body does not start before.
pub struct AttemptReceiver<T, E>(oneshot::Receiver<Entered<Attempt, T, E>>);

impl<T, E> AttemptReceiver<T, E> {
    /// Waits for the attempt.
    pub async fn attempt(self) -> Attempt {
        match self.0.await {
            Ok(Entered::Attempt(attempt)) => attempt,
            // The claim failed, and the body is about to be dropped.
            Ok(Entered::Review(_)) | Err(_) => std::future::pending().await,
        }
    }

    /// Waits for the attempt, or for the replay to review.
    pub async fn entered(self) -> Entered<Attempt, T, E> {
        match self.0.await {
            Ok(entered) => entered,
            // The claim failed, and the body is about to be dropped.
            Err(_) => std::future::pending().await,
        }
    }
}

/// Creates a call of a leased handler, and the receiver of its attempt; sends nothing.
pub fn leased<Db: LeaseSource, T, E>(
    db: Db,
    request: LeasedRequest,
    contract: Contract<T, E>,
) -> (LeasedCall<Db::Database, T, E>, AttemptReceiver<T, E>) {
    let (attempt_sender, attempt_receiver) = oneshot::channel();
    let call = LeasedCall {
        pool: db.lease_pool(),
        request,
        contract,
        attempt_sender,
    };
    (call, AttemptReceiver(attempt_receiver))
}

/// The boxed future of the body.
type Body<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// Runs the call in its own task and waits for it. If the returned future is dropped, the task
/// continues.
///
/// The body is boxed first: from here on only a pointer is moved, so that a body with a large state
/// does not need a large stack.
///
/// # Errors
/// The body's own error, or an [`Error`] of the library, converted by `From`.
///
/// # Panics
/// Panics if the body panics.
pub fn run<DB, T, E, F>(
    call: LeasedCall<DB, T, E>,
    body: F,
) -> impl Future<Output = Result<Replayable<T>, E>> + Send
where
    DB: LeaseBackend,
    T: Send + 'static,
    E: Send + 'static,
    F: Future<Output = Result<T, E>> + Send + 'static,
{
    wait(call, Box::pin(body))
}

async fn wait<DB, T, E>(call: LeasedCall<DB, T, E>, body: Body<T, E>) -> Result<Replayable<T>, E>
where
    DB: LeaseBackend,
    T: Send + 'static,
    E: Send + 'static,
{
    let contract = call.contract;
    // Counted before the task is first polled, so that `drain` waits for it as well.
    let running = match CountedRun::enter() {
        Ok(running) => running,
        Err(refusal) => return Err(refused(call.request.request, refusal, &contract)),
    };
    let detached = detached(running, call, body).replayable();
    match tokio::spawn(detached.in_current_span()).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => {
            // The thread-local variable was set in the task that ran; set it for the task that
            // waits.
            replay::failed(error.recorded_at());
            Err(error.into_inner())
        }
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is shutting down, and the lease lapses.
            Err(_) => Err(contract.lift(Error::LeaseLost)),
        },
    }
}

/// Emits the event of a call that is refused before it claims. Returns the refusal.
fn refused<T, E>(mut request: Request, refusal: Error, contract: &Contract<T, E>) -> E {
    request.begun(0);
    request.emit("refused", None, Some(&refusal));
    contract.lift(refusal)
}

async fn detached<DB: LeaseBackend, T, E>(
    _running: CountedRun,
    call: LeasedCall<DB, T, E>,
    body: Body<T, E>,
) -> Result<Replayable<T>, E> {
    let LeasedCall {
        pool,
        request:
            LeasedRequest {
                mut request,
                lease,
                takes_over,
            },
        contract,
        attempt_sender,
    } = call;
    let mut backoff = Backoff::default();
    let mut waiting = Some((attempt_sender, body));
    request.begun(0);
    let answer = match prepare(pool, &mut request, lease, takes_over) {
        Ok(held_lease) => {
            answer(
                held_lease,
                &mut request,
                &mut backoff,
                &contract,
                &mut waiting,
            )
            .await
        }
        Err(error) => Answer::Refused(error),
    };
    request.begun(backoff.waits());
    let done = answered(&mut request, answer, &contract);
    match waiting {
        Some(waiting) if is_replay(&request) => reviewed(request, done, waiting).await,
        _ => done,
    }
}

/// Lets the body's parameters, which it owns, review a replay.
async fn reviewed<T, E>(
    request: Request,
    done: Result<Replayable<T>, E>,
    (attempt_sender, body): BodyToBegin<T, E>,
) -> Result<Replayable<T>, E> {
    let (result, recorded_at) = match done {
        Ok(replayed) => {
            let (value, recorded_at) = apart(replayed);
            (Ok(value), Some(recorded_at))
        }
        Err(error) => (Err(error), None),
    };
    let (review, denial) = Review::new(result);
    // The receiver is the body's, which is there.
    let _ = attempt_sender.send(Entered::Review(review));
    match (body.await, recorded_at) {
        (Err(error), _) if denial.is_denied() => denied(request, error),
        (Ok(value), Some(recorded_at)) => approved(request, Ok(together(value, recorded_at))),
        (Ok(value), None) => approved(request, Ok(Replayable::first(value))),
        (Err(error), _) => approved(request, Err(error)),
    }
}

async fn answer<DB: LeaseBackend, T, E>(
    held_lease: HeldLease<DB>,
    request: &mut Request,
    backoff: &mut Backoff,
    contract: &Contract<T, E>,
    waiting: &mut Option<BodyToBegin<T, E>>,
) -> Answer<T, E> {
    let mut observed = request.observed().clone();
    let meter = observed.meter();
    let span = observed.claim(DB::NAME);
    let claimed = claim(
        &held_lease.pool,
        request,
        &held_lease.claim_request,
        (held_lease.lease, held_lease.takes_over),
        backoff,
    );
    let claimed = claimed.instrument(span).await;
    observed.claimed(backoff.waits() > 0);
    let claimed = match claimed {
        Ok(claimed) => claimed,
        Err(decision) => {
            if let Decision::Lapse(_) = decision {
                meter.lease_lapsed(Lapsed::Unknown);
            }
            return Answer::of(decision, || Error::LeaseLost);
        }
    };
    let Some((attempt_sender, body)) = waiting.take() else {
        // It is there until it runs.
        return Answer::Refused(Error::LeaseLost);
    };
    meter.started(claimed.before == KeyBefore::Expired);
    if claimed.before == KeyBefore::Lapsed {
        meter.lease_lapsed(Lapsed::TakenOver);
    }
    let _held = meter.holds();
    let (requests, requested) = mpsc::unbounded_channel();
    let attempt = Attempt::new(
        (
            held_lease.claim_request.identity.clone(),
            request.clear_key().cloned(),
        ),
        held_lease.claim_request.attempt_id,
        claimed.attempt,
        claimed.until,
        requests,
    );
    let heartbeat_task = heartbeat_task::start(&held_lease, attempt.clone(), requested, meter);
    // The receiver is dropped if the body does not use the attempt; the body runs all the same.
    let _ = attempt_sender.send(Entered::Attempt(attempt.clone()));
    let ran = caught(pin!(observed.body(body))).await;
    let mut is_lost = attempt.lease_state().is_lost;
    let ended = match ran {
        Ok(result) => {
            let span = observed.finish(DB::NAME);
            let end = held_lease.end(request, &attempt, result, contract);
            // Encoding runs the result's own `Serialize`, which may panic.
            let ended = caught(pin!(end.instrument(span))).await;
            observed.finished();
            is_lost |= matches!(ended, Ok(Answer::Refused(Error::LeaseLost)));
            ended
        }
        Err(panic) => Err(panic),
    };
    if is_lost {
        meter.lease_lost();
    }
    match ended {
        Ok(answer) => {
            drop(heartbeat_task);
            answer
        }
        Err(panic) => {
            held_lease.panicked(&attempt).await;
            drop(heartbeat_task);
            resume_unwind(panic)
        }
    }
}

/// Returns the output of the future, or its panic.
async fn caught<F: Future + Unpin>(mut future: F) -> Result<F::Output, Box<dyn Any + Send>> {
    poll_fn(|context| {
        let poll = || Pin::new(&mut future).poll(context);
        // After a panic the future is not polled again.
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(polled) => polled.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
    .await
}

/// Checks the call and computes its identity.
fn prepare<DB: LeaseBackend>(
    pool: Pool<DB>,
    request: &mut Request,
    lease: Lease,
    takes_over: Option<TakesOver>,
) -> Result<HeldLease<DB>, Error> {
    let operation = *request.operation();
    // A lease needs a key, even if the operation's key is optional.
    let pool_traits = DB::pool_traits(&pool)?;
    let Some(claim_request) = request.claim_request(pool_traits)? else {
        return Err(Error::KeyMissing {
            operation: request.name().clone(),
        });
    };
    let heartbeats = Heartbeats::of(&pool)?;
    Ok(HeldLease {
        pool,
        heartbeats,
        claim_request,
        lease,
        takes_over,
        retention: operation.policy().retention_micros(),
    })
}
