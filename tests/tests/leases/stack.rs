//! Bodies with a large state across an await, on small stacks.

#![expect(
    clippy::large_futures,
    clippy::large_stack_arrays,
    reason = "what they hold is what this is about"
)]

use std::time::Duration;

use idem_runtime::policy::OnLapse;
use idem_runtime::{Attempt, Error, IdempotencyKey, LeasedOperation, Operation, idempotent};
use sqlx::SqlitePool;

use crate::database::{LeaseDatabase as _, Sqlite};
use crate::desk::fresh_key;

/// The size of a body's state, in bytes.
const HELD: usize = 256 * 1024;

/// A stack that is large enough for a spawned task with this state.
const STACK: usize = 1024 * 1024;

async fn hold() -> u8 {
    let held = [1_u8; HELD];
    tokio::task::yield_now().await;
    held.iter().fold(0, |sum, byte| sum ^ byte)
}

#[idempotent(
    namespace = "mail",
    operation = "large",
    lease = "5m",
    on_lapse = "retry"
)]
async fn large(attempt: &Attempt, key: &IdempotencyKey) -> Result<u8, Error> {
    assert!(attempt.number() == 1 && !key.as_str().is_empty());
    Ok(hold().await)
}

async fn run_large(pool: SqlitePool) -> u8 {
    const LARGE: LeasedOperation =
        Operation::new("mail", "large").lease(Duration::from_mins(5), OnLapse::Retry);
    let sum = LARGE
        .run(&pool, &fresh_key(), &1, |_| async {
            Ok::<_, Error>(hold().await)
        })
        .await;
    *sum.expect("it ran")
}

/// Runs the future on a worker thread with that stack, where an overflow aborts the process.
fn on_a_small_stack<F>(task: impl FnOnce(SqlitePool) -> F) -> u8
where
    F: Future<Output = u8> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_stack_size(STACK)
        .enable_all()
        .build()
        .expect("a runtime");
    let database = runtime.block_on(Sqlite::open());
    let run = runtime.spawn(task(database.pool()));
    runtime.block_on(run).expect("no panic")
}

#[test]
fn a_leased_body_holds_as_much_across_an_await_as_a_spawned_task_on_the_same_stack() {
    assert_eq!(on_a_small_stack(|_| hold()), 0);
    assert_eq!(on_a_small_stack(run_large), 0);
    let by_attribute = async |pool: SqlitePool| {
        let sum = large(&pool, &fresh_key()).await;
        *sum.expect("it ran")
    };
    assert_eq!(on_a_small_stack(by_attribute), 0);
}
