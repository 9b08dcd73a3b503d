//! The task that looks a key up for all who wait for it.

use std::time::Duration;

use sqlx::Pool;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::key_state::KeyState;
use super::lines::{self, LineGuard, LineId};
use super::schedule::pause;
use crate::calls::kit::look::look;
use crate::stores::{Backend, ClaimRequest, PoolTraitsOf};

/// How long one look waits for a connection and an answer: 5 seconds. Then its connection is closed, and
/// the next look takes another one.
const LOOK: Duration = Duration::from_secs(5);

/// Starts the poller of a line. It ends with the line, or is aborted by the last waiter.
pub(super) fn start<DB: Backend>(
    line: LineId,
    pool: Pool<DB>,
    request: ClaimRequest<PoolTraitsOf<DB>>,
    looks: u32,
) -> AbortHandle {
    let guard = LineGuard(line);
    tokio::spawn(poll(guard, pool, request, looks)).abort_handle()
}

async fn poll<DB: Backend>(
    line: LineGuard,
    pool: Pool<DB>,
    request: ClaimRequest<PoolTraitsOf<DB>>,
    mut looks: u32,
) {
    loop {
        sleep(pause(looks, lines::count())).await;
        looks = looks.saturating_add(1);
        let state = match timeout(LOOK, look(&pool, &request)).await {
            Ok(looked) => KeyState::of::<DB>(looked),
            Err(_) => KeyState::Silent,
        };
        if !lines::announce(line.0, &state) {
            return;
        }
    }
}
