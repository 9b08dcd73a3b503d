//! Distinguishes replayed failures from first ones.
//!
//! The error type belongs to the user, and a replayed failure is equal to the first one: the value
//! cannot carry the information that it is a replay. Therefore the call stores it in a thread-local
//! variable, and [`ReplayableCall`], which polls the call, reads it there.

use std::cell::Cell;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::Replayable;
use crate::values::record::Timestamp;

thread_local! {
    /// When the failure was recorded that the last finished call returned; `None` if that was no
    /// replay.
    static RECORDED_AT: Cell<Option<Timestamp>> = const { Cell::new(None) };
}

/// Stores when the failure that a call returns was recorded, or `None` if it is no replay.
pub(crate) fn failed(recorded_at: Option<Timestamp>) {
    RECORDED_AT.set(recorded_at);
}

/// Distinguishes a replayed failure from a first one.
pub trait ReplayExt: Future + Sized {
    /// Wraps the error of a call in a [`Replayable`] as well, for a handler with
    /// `failures = "record"`. Metrics of declined payments can then leave replays out.
    ///
    /// Call it directly on the future of a generated handler, of
    /// [`Operation::run`](crate::Operation::run) or of one of its variants.
    ///
    /// ```
    /// use idem_runtime::{Replayable, ReplayExt as _};
    /// # #[derive(Debug)] struct PaymentError;
    /// # async fn create_payment(cents: i64) -> Result<Replayable<u64>, PaymentError> { Err(PaymentError) }
    ///
    /// async fn post(cents: i64) -> Result<Replayable<u64>, Replayable<PaymentError>> {
    ///     let payment = create_payment(cents).replayable().await;
    ///     if payment.as_ref().is_err_and(|error| !error.replayed()) {
    ///         // declined for the first time
    ///     }
    ///     payment
    /// }
    /// ```
    ///
    /// With the feature `axum-core`, `Replayable<E>` implements `IntoResponse` if `E` does; the response
    /// of a replay has the header `Idempotent-Replayed: true`.
    fn replayable<T, E>(self) -> ReplayableCall<Self>
    where
        Self: Future<Output = Result<T, E>>,
    {
        ReplayableCall {
            call: self,
            recorded_at: None,
        }
    }
}

impl<F: Future> ReplayExt for F {}

pin_project! {
    /// The future that [`ReplayExt::replayable`] returns.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct ReplayableCall<F> {
        #[pin]
        call: F,
        recorded_at: Option<Timestamp>,
    }
}

impl<F, T, E> Future for ReplayableCall<F>
where
    F: Future<Output = Result<T, E>>,
{
    type Output = Result<T, Replayable<E>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let watch = Watch::begin(this.recorded_at);
        let polled = this.call.poll(context);
        drop(watch);
        polled.map_err(|error| Replayable {
            value: error,
            recorded_at: *this.recorded_at,
        })
    }
}

/// Exchanges the thread-local variable with the value of one call while that call is polled.
struct Watch<'a> {
    own: &'a mut Option<Timestamp>,
    others: Option<Timestamp>,
}

impl<'a> Watch<'a> {
    fn begin(own: &'a mut Option<Timestamp>) -> Self {
        let others = RECORDED_AT.replace(*own);
        Self { own, others }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        *self.own = RECORDED_AT.replace(self.others);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn};
    use std::pin::pin;
    use std::task::{Poll, Waker};

    use super::*;

    fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    fn call(recorded_at: Option<Timestamp>) -> impl Future<Output = Result<(), &'static str>> {
        poll_fn(move |_| {
            failed(recorded_at);
            Poll::Ready(Err("failed"))
        })
    }

    #[test]
    fn calls_side_by_side_and_inside_each_other_are_told_apart() {
        let at = Some(Timestamp::from_micros(7));
        let first = pin!(call(None).replayable());
        let replay = pin!(call(at).replayable());
        let waiting = pin!(async { pending::<Result<(), &str>>().await }.replayable());
        let outer = pin!(
            async {
                let inner = call(at).replayable().await;
                assert_eq!(inner.map_err(|error| error.recorded_at()), Err(at));
                // The outer error is not a replay, although the inner call replayed one.
                Err::<(), _>("failed")
            }
            .replayable()
        );
        let mut waiting = waiting;
        assert!(poll(waiting.as_mut()).is_pending());
        let is_replay = |polled: Poll<Result<(), Replayable<&str>>>| match polled {
            Poll::Ready(Err(error)) => error.replayed(),
            other => panic!("{other:?}"),
        };
        assert!(is_replay(poll(replay)));
        assert!(!is_replay(poll(outer)));
        assert!(!is_replay(poll(first)));
        assert!(poll(waiting.as_mut()).is_pending());
    }

    #[test]
    fn a_call_that_panics_tells_nothing_to_the_next() {
        let at = Some(Timestamp::from_micros(7));
        let panics = pin!(
            poll_fn(|_| {
                failed(at);
                assert!(at.is_none(), "on purpose");
                Poll::Ready(Ok::<(), ()>(()))
            })
            .replayable()
        );
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| poll(panics)));
        assert!(caught.is_err());
        assert_eq!(RECORDED_AT.get(), None);
    }
}
