//! The end of a source.

use tokio::sync::watch;

/// Waits until the source is told to stop.
pub(super) async fn closed(closing: &mut watch::Receiver<bool>) {
    // The sender is dropped only together with the source, which stops then too.
    let _ = closing.wait_for(|closing| *closing).await;
}
