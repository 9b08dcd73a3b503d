//! Waits for calls that wait, and for the looks that are made for them.

use idem_runtime::waiters::observed;
use tokio::task::yield_now;

use crate::patience::in_time;

/// Waits until exactly this many calls of this process wait for their keys.
///
/// # Panics
/// Panics if that does not happen within a minute.
pub async fn until_waiting(calls: usize) {
    in_time("the calls do not wait", async {
        while observed().0 != calls {
            yield_now().await;
        }
    })
    .await;
}

/// Waits for this many looks more.
///
/// # Panics
/// Panics if they are not made within a minute.
pub async fn until_looked(more: u64) {
    let before = observed().1;
    in_time("nobody looks", async {
        while observed().1 < before + more {
            yield_now().await;
        }
    })
    .await;
}
