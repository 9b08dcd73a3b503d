//! Waiting that comes to an end.

use std::time::Duration;

use tokio::time::timeout;

/// Bounds a hang and nothing else: a busy machine is given all the time that a test may take.
const PATIENCE: Duration = Duration::from_mins(2);

/// Waits for what a fault would keep away for ever.
///
/// # Panics
/// It has not come within two minutes; `what` says what it is.
pub async fn in_time<F: Future>(what: &str, coming: F) -> F::Output {
    // Boxed: it may hold several calls.
    let came = timeout(PATIENCE, Box::pin(coming)).await;
    came.unwrap_or_else(|_| panic!("waited two minutes in vain: {what}"))
}
