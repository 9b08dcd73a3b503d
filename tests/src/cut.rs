//! Drops a future at one of its awaits.

use std::future::poll_fn;
use std::task::Poll;

/// The moment at which a future is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// After it has sent a request.
    Asked,
    /// After the answer has arrived and before the future is polled again.
    Answered,
}

/// Both moments.
pub const CUTS: [Cut; 2] = [Cut::Asked, Cut::Answered];

/// More awaits than any call has. A future that reaches this number never ends.
pub const MANY: usize = 10_000;

/// Polls a future `polls` times and then drops it. Returns its output if it has ended by then.
pub async fn cut<F: Future>(future: F, polls: usize, cut: Cut) -> Option<F::Output> {
    let mut future = Box::pin(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 && cut == Cut::Asked => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
