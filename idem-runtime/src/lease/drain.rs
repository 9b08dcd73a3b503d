//! Waiting for the runs of this process.

use std::sync::LazyLock;

use tokio::sync::watch;

static RUNS: LazyLock<watch::Sender<usize>> = LazyLock::new(|| watch::Sender::new(0));

/// One run, counted while it lives.
#[derive(Debug)]
pub(super) struct Running(());

impl Running {
    pub(super) fn enter() -> Self {
        RUNS.send_modify(|runs| *runs += 1);
        Self(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNS.send_modify(|runs| *runs -= 1);
    }
}

/// Waits until no leased run is under way in this process, whoever its caller was.
///
/// For a graceful shutdown: stop taking calls, wait for this (with a bound of your own), then let the
/// runtime go. A run that is cut off all the same leaves its lease to lapse.
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
    // An error would mean that the sender is gone, and it is a static.
    let _ = runs.wait_for(|runs| *runs == 0).await;
}
