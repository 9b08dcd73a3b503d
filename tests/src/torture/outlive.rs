//! A lease that is held for longer than it lasts, while other bodies have the whole pool: the library's,
//! and the planted one, whose heartbeats share the pool with them.

use std::time::Duration;

use idem_runtime::policy::{Lease, OnLapse};
use idem_runtime::store::{LeaseBackend, Outcome, RawStore, Store, StoreLease};
use idem_runtime::{Attempt, Error, IdempotencyKey, LeasedOperation, Namespace, Operation};
use sqlx::Pool;
use tokio::time::{Instant, sleep};

use super::calls::Refused;
use super::notices::LEASE;
use super::planted::Planted;

const OUTLIVE: LeasedOperation = Operation::new("torture", "notice").lease(LEASE, OnLapse::Unknown);

/// Holds a lease until `full` comes to its end; whether it was lost before.
///
/// # Errors
/// There is no lease to hold, or its end could not be recorded.
pub async fn outlive<DB: LeaseBackend>(
    pool: &Pool<DB>,
    key: &IdempotencyKey,
    planted: Planted,
    full: impl Future<Output = ()> + Send + 'static,
) -> Result<bool, Refused> {
    if planted == Planted::HeartbeatsShared {
        return by_hand(pool, key, full).await;
    }
    let body = async move |attempt: Attempt| {
        tokio::select! {
            () = attempt.lost() => Ok(true),
            () = full => Ok::<_, Refused>(false),
        }
    };
    let lost = OUTLIVE.run(pool, key, &1, body).await?;
    Ok(lost.into_inner())
}

async fn by_hand<DB: LeaseBackend>(
    pool: &Pool<DB>,
    key: &IdempotencyKey,
    full: impl Future<Output = ()>,
) -> Result<bool, Refused> {
    let store: RawStore = Store::new(Namespace::from_static("torture"));
    let lease = claim(pool, &store, key).await?;
    tokio::select! {
        () = lapse(pool, &store, &lease) => Ok(true),
        () = full => Ok(false),
    }
}

async fn claim<DB: LeaseBackend>(
    pool: &Pool<DB>,
    store: &RawStore,
    key: &IdempotencyKey,
) -> Result<StoreLease, Refused> {
    let lease = Lease::new(LEASE, OnLapse::Unknown).map_err(Error::from)?;
    let mut conn = pool.acquire().await?;
    let mut bound = store.in_connection(&mut *conn);
    match bound.begin_leased(key, "notice", &1.into(), lease).await? {
        Outcome::Fresh(lease) => Ok(lease),
        _ => Err(Refused::BankDown),
    }
}

/// Gives heartbeats through the pool until the lease is over.
async fn lapse<DB: LeaseBackend>(pool: &Pool<DB>, store: &RawStore, lease: &StoreLease) {
    let mut until = Instant::now() + LEASE;
    while Instant::now() < until {
        sleep(Duration::from_secs(1)).await;
        let Ok(mut conn) = pool.acquire().await else {
            continue;
        };
        let sent = Instant::now();
        if sent < until && store.in_connection(&mut *conn).extend(lease).await.is_ok() {
            until = sent + LEASE;
        }
    }
}
