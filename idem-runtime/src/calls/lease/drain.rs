//! Counting, limiting and awaiting the leased runs of this process.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::watch;

use crate::values::error::Error;
use crate::values::policy::DEFAULT_RETRY_AFTER;

static RUNS: LazyLock<watch::Sender<usize>> = LazyLock::new(|| watch::Sender::new(0));

static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// One run, counted until it is dropped.
#[derive(Debug)]
pub(super) struct CountedRun(());

impl CountedRun {
    pub(super) fn enter() -> Result<Self, Error> {
        let limit = LIMIT.load(Ordering::SeqCst);
        let entered = RUNS.send_if_modified(|runs| {
            let enters = *runs < limit;
            *runs += usize::from(enters);
            enters
        });
        if entered {
            Ok(Self(()))
        } else {
            Err(too_many(limit))
        }
    }
}

/// Returns the error for a call over the limit.
fn too_many(limit: usize) -> Error {
    Error::TooManyRuns {
        limit,
        retry_after: DEFAULT_RETRY_AFTER,
    }
}

/// Limits how many leased runs may be active in this process at once. By default there is no limit.
///
/// A run counts until it has ended, even if its caller is gone; a limit on requests in front of the
/// handler does not count it then. A call over the limit is refused with [`Error::TooManyRuns`]
/// before it claims, and may be retried. Active runs are not affected.
///
/// ```
/// idem_runtime::lease::set_max_concurrent(200);
/// ```
pub fn set_max_concurrent(runs: usize) {
    LIMIT.store(runs, Ordering::SeqCst);
}

impl Drop for CountedRun {
    fn drop(&mut self) {
        RUNS.send_modify(|runs| *runs -= 1);
    }
}

/// Waits until no leased run is active in this process.
///
/// For a graceful shutdown: stop accepting calls, wait for this future with a timeout of your own,
/// then shut the runtime down. The lease of a run that is cut off then lapses.
///
/// ```
/// # async fn example() {
/// use std::time::Duration;
///
/// let bound = Duration::from_secs(30);
/// if tokio::time::timeout(bound, idem_runtime::lease::drain()).await.is_err() {
///     eprintln!("leased runs are cut off; their leases lapse");
/// }
/// # }
/// ```
pub async fn drain() {
    let mut runs = RUNS.subscribe();
    // An error would mean that the sender was dropped, but it is a static.
    let _ = runs.wait_for(|runs| *runs == 0).await;
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use std::future::{Future, poll_fn};
    use std::pin::{Pin, pin};
    use std::task::Poll;
    use std::time::Duration;

    use sqlx::SqlitePool;

    use super::drain;
    use crate::values::error::Error;
    use crate::values::key::IdempotencyKey;
    use crate::values::operation::{LeasedOperation, Operation};
    use crate::values::policy::OnLapse;

    /// Polls the future once without yielding to other tasks.
    async fn is_pending<F: Future>(mut future: Pin<&mut F>) -> bool {
        poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_run_that_was_begun_and_never_polled_is_waited_for() {
        const NOTE: LeasedOperation =
            Operation::new("mail", "note").lease(Duration::from_mins(1), OnLapse::Retry);
        let pool = SqlitePool::connect_lazy("sqlite::memory:").expect("a URL");
        let key = "k".parse::<IdempotencyKey>().expect("a key").global();
        {
            let body = |_| async { Ok::<_, Error>(1) };
            let call = pin!(NOTE.run(&pool, &key, &1, body));
            assert!(is_pending(call).await);
        }
        // The caller is gone, and on a single thread the run was not polled yet.
        let mut draining = pin!(drain());
        assert!(is_pending(draining.as_mut()).await);
        draining.await;
    }
}
