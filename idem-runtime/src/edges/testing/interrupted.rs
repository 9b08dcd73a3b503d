//! A call that is dropped at every await, and repeated.

use std::fmt::Debug;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use serde::Serialize;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::twice::{expect_replay, json, succeeded};
use crate::values::key::IdempotencyKey;
use crate::values::replay::Replayable;

/// The most polls of one call.
const POLLS_MAX: usize = 10_000;
/// How often all of it is done: an await that is answered at once is no place to stop at, and which those are differs.
const ROUNDS: usize = 4;
/// How long a call is repeated until it is answered: the server may still be ending what was dropped.
const PATIENCE: Duration = Duration::from_secs(20);
/// The pause before a repetition.
const PAUSE: Duration = Duration::from_millis(5);

/// Drops a call before its first poll, after one, after two, and so on until it ends, as a client that hangs up or a time-out
/// does. After each it repeats the call with the same key until it is answered, and asserts that its effect happened once, and
/// that a further call is a replay of the same answer. Returns the number of calls that were dropped.
///
/// `call` makes a call with the key that it is given, another one for each interruption; a handler with a natural key makes
/// its number from the key's text. `count` counts the effects, all those that one call has: a first call that is not
/// interrupted says how many those are.
///
/// A call can be dropped where it waits. Where an answer is there at once it does not wait, which happens now and then with a
/// fast database; therefore all of this is done four times.
///
/// Calls are repeated after any error, because a server needs a moment to end a dropped transaction; a call that is
/// refused for 20 seconds fails the test. The futures are polled by the caller, so that nothing need be `Send`.
///
/// # Panics
/// Panics if the effect of a call happens more than once or not at all, if a repeated call is not answered, if it does not
/// replay, if `count` does not see the effect, or if a call has not ended after 10,000 polls.
pub async fn interrupted_at_every_await<T, E>(
    count: impl AsyncFn() -> i64,
    call: impl AsyncFn(&IdempotencyKey) -> Result<Replayable<T>, E>,
) -> usize
where
    T: Serialize,
    E: Debug,
{
    let before = count().await;
    succeeded(call(&new_key()).await, "first");
    let effects = count().await - before;
    assert!(
        effects > 0,
        "`count` does not see the effect of a call: it rose by {effects}"
    );
    let mut dropped = 0;
    for _ in 0..ROUNDS {
        let mut polls = 0;
        while !interrupted(&count, &call, polls, effects).await {
            (polls, dropped) = (polls + 1, dropped + 1);
            assert!(
                polls < POLLS_MAX,
                "a call has not ended after {POLLS_MAX} polls"
            );
        }
    }
    dropped
}

/// Drops one call after so many polls, and repeats it. Returns whether it had ended by then.
async fn interrupted<T: Serialize, E: Debug>(
    count: &impl AsyncFn() -> i64,
    call: &impl AsyncFn(&IdempotencyKey) -> Result<Replayable<T>, E>,
    polls: usize,
    effects: i64,
) -> bool {
    let (key, before) = (new_key(), count().await);
    let ended = polled(call(&key), polls).await;
    let has_ended = ended.is_some();
    let answer = match ended {
        Some(Ok(answer)) => answer,
        Some(Err(_)) | None => repeated(call, &key, polls).await,
    };
    expect_replay(call(&key).await, &json(&*answer));
    let found = count().await - before;
    assert!(
        found == effects,
        "dropped after {polls} polls and repeated, a call has {found} effects in place of {effects}"
    );
    has_ended
}

/// Returns a key that nobody has used.
fn new_key() -> IdempotencyKey {
    match IdempotencyKey::derive([Uuid::new_v4().to_string()]) {
        Ok(key) => key,
        Err(error) => panic!("{error}"),
    }
}

/// Polls a future so often, and then drops it. Returns its output if it has ended by then.
async fn polled<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Repeats a call until it is answered.
async fn repeated<T, E: Debug>(
    call: &impl AsyncFn(&IdempotencyKey) -> Result<Replayable<T>, E>,
    key: &IdempotencyKey,
    polls: usize,
) -> Replayable<T> {
    let until = Instant::now() + PATIENCE;
    loop {
        match call(key).await {
            Ok(answer) => return answer,
            Err(_) if Instant::now() < until => sleep(PAUSE).await,
            Err(error) => {
                panic!("dropped after {polls} polls, a call is not answered again: {error:?}")
            }
        }
    }
}
