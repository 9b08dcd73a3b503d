//! The callers of the leased handlers. They share the pool with bodies that keep it full for longer than a lease
//! lasts.

use std::time::Duration;

use idem_runtime::Error;
use tokio::time::sleep;

use super::calls::Refused;
use super::handlers::{Bank, named};
use super::notices::{LEASE, Lapse, Notice, Outside};
use super::planted::Planted;
use super::{Fault, choice};

/// The number of bodies that fill the pool: one for each connection.
const BODIES: u64 = 6;
/// How long they keep the pool full: longer than a lease lasts without a heartbeat.
const FULL: Duration = Duration::from_millis(1_500);

/// Calls a leased handler for one key after another until it is stopped, and retries each call
/// until it is answered.
///
/// # Errors
///
/// Returns an error if the file cannot be written.
pub async fn notify<B: Bank>(
    bank: B,
    outside: Outside,
    lapse: Lapse,
    seed: u64,
    planted: Planted,
) -> Result<(), Fault> {
    for n in 0_u64.. {
        let name = format!("notice-{lapse:?}-{n}");
        let key = named(&name)?;
        // Some work takes longer than the lease lasts without a heartbeat.
        let long = choice(seed, n).is_multiple_of(4);
        let work = Duration::from_millis(if long { 1_400 } else { 20 });
        if planted == Planted::LeaseIgnored {
            let external = name.clone();
            outside.write(&Notice::Sent {
                key: name,
                lapse,
                external,
            })?;
            sleep(Duration::from_millis(20)).await;
            continue;
        }
        loop {
            match bank.notify(&key, lapse, outside.clone(), work).await {
                Ok(()) => break,
                Err(Refused::Idempotency(Error::OutcomeUnknown { .. }))
                    if lapse == Lapse::Unknown =>
                {
                    break;
                }
                Err(Refused::Idempotency(error)) if !error.is_retryable() => {
                    let (key, words) = (name.clone(), format!("{error:?}"));
                    outside.write(&Notice::Forbidden { key, words })?;
                    break;
                }
                Err(_) => sleep(Duration::from_millis(choice(seed, n) % 64)).await,
            }
        }
    }
    Ok(())
}

/// Fills the pool with bodies, again and again.
pub async fn fill<B: Bank>(bank: B) {
    loop {
        fill_for(&bank, FULL).await;
        sleep(FULL).await;
    }
}

/// Fills the pool with bodies for so long.
async fn fill_for<B: Bank>(bank: &B, time: Duration) {
    let mut bodies = tokio::task::JoinSet::new();
    for _ in 0..BODIES {
        let bank = bank.clone();
        // One that gets no connection has found the pool full.
        bodies.spawn(async move { bank.hold(time).await.is_ok() });
    }
    bodies.join_all().await;
}

/// Holds a lease while bodies keep the pool full for longer than it lasts.
///
/// # Errors
/// The file cannot be written.
pub async fn outlive<B: Bank>(bank: B, outside: Outside, planted: Planted) -> Result<(), Fault> {
    let name = "notice-outliving";
    let key = named(name)?;
    loop {
        let full = bank.clone();
        let full = async move { fill_for(&full, LEASE + LEASE / 2).await };
        let key_name = || name.to_owned();
        let notice = match bank.outlive(&key, planted, full).await {
            Ok(false) => break,
            Ok(true) | Err(Refused::Idempotency(Error::LeaseLost)) => {
                Notice::Lapsed { key: key_name() }
            }
            Err(Refused::Idempotency(error)) if !error.is_retryable() => Notice::Forbidden {
                key: key_name(),
                words: format!("{error:?}"),
            },
            Err(_) => {
                // A caller's back-off: nothing waits for it.
                sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        outside.write(&notice)?;
        break;
    }
    Ok(())
}
