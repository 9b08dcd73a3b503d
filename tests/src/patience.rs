//! Waiting that comes to an end.

use std::time::Duration;

use tokio::time::timeout;

/// Bounds a hang and nothing else: a busy machine is given all the time that a test may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// Waits for what a fault would keep away for ever.
///
/// # Panics
/// It has not come within a minute; `what` says what it is.
pub async fn in_time<F: Future>(what: &str, coming: F) -> F::Output {
    let came = timeout(PATIENCE, coming).await;
    came.unwrap_or_else(|_| panic!("waited a minute in vain: {what}"))
}
