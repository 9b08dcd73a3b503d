//! A future that is leaked instead of dropped.

use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Runs a future to its end. If it is dropped before, the future is leaked.
///
/// For sqlx's nested `begin`. If that future is dropped before the server has answered `SAVEPOINT`, it counts
/// one level more than there is: it rolls the caller's whole transaction back and forgets that there is one, so
/// the caller's next writes are committed one by one (sqlx #4393). If it is leaked, it leaves an unused
/// savepoint behind, which does no harm, and some hundred bytes.
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
