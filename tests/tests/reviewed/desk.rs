//! A desk where rights are given and taken, and who was asked about which replay.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use idem_runtime::{Failure, IdempotencyKey, StoredFailure};
use serde::{Deserialize, Serialize};
use sqlx::{Database, Pool};

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Cents(pub(crate) i64);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Payment {
    pub(crate) id: i64,
}

#[derive(Debug, thiserror::Error, Failure)]
pub(crate) enum PayError {
    #[error("declined")]
    #[failure(permanent)]
    Declined,
    #[error("forbidden")]
    Forbidden,
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

pub(crate) struct Desk<P> {
    pool: P,
    is_allowed: AtomicBool,
    asked: Mutex<Vec<String>>,
    runs: AtomicU32,
}

impl<P> Desk<P> {
    pub(crate) fn of(pool: P) -> Self {
        Self {
            pool,
            is_allowed: AtomicBool::new(true),
            asked: Mutex::default(),
            runs: AtomicU32::new(0),
        }
    }

    pub(crate) fn pool(&self) -> &P {
        &self.pool
    }

    pub(crate) fn forbid(&self) {
        self.is_allowed.store(false, Ordering::SeqCst);
    }

    pub(crate) fn allow(&self) {
        self.is_allowed.store(true, Ordering::SeqCst);
    }

    /// Returns what was shown to those who were asked.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }

    pub(crate) fn runs(&self) -> u32 {
        self.runs.load(Ordering::SeqCst)
    }
}

/// The body of every handler.
pub(crate) fn act<P>(desk: &Desk<P>, cents: Cents) -> Result<Payment, PayError> {
    desk.runs.fetch_add(1, Ordering::SeqCst);
    if cents.0 < 0 {
        return Err(PayError::Declined);
    }
    Ok(Payment { id: cents.0 })
}

/// Asks over the only connection of the pool.
pub(crate) async fn may_see<DB: Database>(
    key: &IdempotencyKey,
    desk: &Desk<Pool<DB>>,
    cents: &Cents,
    outcome: Result<&Payment, &PayError>,
) -> Result<(), PayError> {
    let connection = desk
        .pool
        .acquire()
        .await
        .expect("the call has given it back");
    drop(connection);
    let shown = match outcome {
        Ok(payment) => format!("paid {}", payment.id),
        Err(error) => error.to_string(),
    };
    assert!(!key.as_str().is_empty() && cents.0 != 0);
    desk.asked.lock().expect("no panic").push(shown);
    if desk.is_allowed.load(Ordering::SeqCst) {
        Ok(())
    } else {
        Err(PayError::Forbidden)
    }
}

/// The same, for a leased handler, which owns its desk.
pub(crate) async fn may_see_mail<DB: Database>(
    key: &IdempotencyKey,
    desk: &Arc<Desk<Pool<DB>>>,
    cents: &Cents,
    outcome: Result<&Payment, &PayError>,
) -> Result<(), PayError> {
    may_see(key, desk, cents, outcome).await
}

/// Edits a replay.
#[allow(clippy::unused_async, reason = "the option names an async function")]
pub(crate) async fn raised<P>(
    _: &IdempotencyKey,
    _: &Desk<P>,
    cents: &Cents,
    payment: Payment,
) -> Result<Payment, PayError> {
    assert_eq!(payment.id, cents.0);
    Ok(Payment {
        id: payment.id + 100,
    })
}
