//! Background work beside the calls.

#[cfg(feature = "operate")]
pub(crate) mod archive;
#[cfg(feature = "operate")]
mod archiving;
pub mod purge;
#[cfg(feature = "metrics")]
pub(crate) mod sampler;
pub mod takeover;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

/// Returns the output of `work`, or drops `work` and returns `None` if `cancel` is ready first.
async fn unless<T>(
    mut cancel: Pin<&mut impl Future<Output = ()>>,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context| {
        if cancel.as_mut().poll(context).is_ready() {
            Poll::Ready(None)
        } else {
            work.as_mut().poll(context).map(Some)
        }
    })
    .await
}
