//! One message in the hands of a source, from its delivery to the verdict.

use std::convert::Infallible;

use tokio::sync::watch;

use super::closing::closed;
use super::pause::Pause;
use crate::inbox::{Consumer, Delivery, Handler, Verdict};

/// Handles a delivery, and handles it again after each pause. Returns `None` if the source is told to stop meanwhile: the
/// message is to be given back. The verdict is never [`Verdict::Pause`].
///
/// `keep` runs beside, and tells the broker that the message is still in work.
pub(super) async fn serve<H: Handler>(
    consumer: &Consumer<H>,
    delivery: &Delivery,
    pause: &Pause,
    closing: &mut watch::Receiver<bool>,
    keep: impl Future<Output = Infallible>,
) -> Option<Verdict> {
    let work = async {
        loop {
            tokio::select! {
                biased;
                () = closed(closing) => return None,
                () = pause.over() => {}
            }
            match consumer.handle(delivery).await {
                Verdict::Pause { after, .. } => pause.at_least(after),
                verdict => return Some(verdict),
            }
        }
    };
    tokio::select! {
        biased;
        verdict = work => verdict,
        never = keep => match never {},
    }
}
