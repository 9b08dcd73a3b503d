//! A future that is let go of without being dropped.

use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Runs a future to its end; if it is given up before, what it holds is leaked.
///
/// For sqlx's nested `begin`. Dropped before the server has answered `SAVEPOINT`, it takes itself
/// for one level further in than it is: it rolls the caller's whole transaction back and forgets
/// that there is one, so that the caller's next writes are committed one by one (sqlx #4393).
/// Leaked, it leaves an unused savepoint behind, which harms nobody, and some hundred bytes.
#[derive(Debug)]
pub(super) struct RollbackGuard<F>(Option<Pin<Box<F>>>);

impl<F: Future> RollbackGuard<F> {
    pub(super) fn new(future: F) -> Self {
        Self(Some(Box::pin(future)))
    }
}

impl<F: Future> Future for RollbackGuard<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Some(future) = &mut self.0 else {
            return Poll::Pending;
        };
        let polled = future.as_mut().poll(context);
        if polled.is_ready() {
            self.0 = None;
        }
        polled
    }
}

impl<F> Drop for RollbackGuard<F> {
    fn drop(&mut self) {
        mem::forget(self.0.take());
    }
}
