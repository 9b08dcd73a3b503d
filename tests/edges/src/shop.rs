//! The handler behind every transport: trivial, and without a database in the measured calls.
//!
//! A [`Replayable`] and a mismatch come of real calls only. They are made once, on SQLite in memory, and handed out again as
//! the outcome of each measured call, so that a measured call is the edge's own work.

use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

use idem_runtime::error::Mismatch;
use idem_runtime::{Error, IdempotencyKey, Replayable, Scope, idempotent, schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteTransaction;
use sqlx::sqlite::SqlitePoolOptions;

use crate::Outcome;

/// The request in JSON.
pub(crate) const ORDER: &str = r#"{"item":"tea","quantity":2}"#;

/// The key of every measured call.
pub(crate) const KEY: &str = "7f3c0b5e-91a4-4c1d-8f0e-5a0c1e3b7d42";

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Order {
    pub(crate) item: String,
    pub(crate) quantity: u32,
}

// jsonrpsee asks for `Clone`.
#[derive(Clone, Serialize)]
pub(crate) struct Placed {
    pub(crate) number: i64,
    pub(crate) item: String,
}

/// The handler, for registries. Its calls here have the outcomes.
#[idempotent(namespace = "edges", marker = PlaceOrder)]
pub(crate) async fn place_order(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    order: &Order,
) -> Result<(), Error> {
    let _ = (tx, order);
    Ok(())
}

/// What the measured calls return, of real calls.
pub(crate) struct Outcomes {
    pub(crate) first: Made,
    pub(crate) replay: Made,
    pub(crate) mismatch: Made,
}

/// An outcome that can be handed out again.
pub(crate) enum Made {
    Result(Replayable<()>),
    Mismatch(Box<Mismatch>),
}

impl Outcomes {
    pub(crate) async fn of_real_calls() -> Outcome<Self> {
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .connect("sqlite::memory:")
            .await?;
        schema::create_if_missing(&mut *pool.acquire().await?).await?;
        let key = KEY.parse::<IdempotencyKey>()?.scoped(scope());
        let mut order: Order = serde_json::from_str(ORDER)?;
        let first = place_order(&pool, &key, &order).await?;
        let replay = place_order(&pool, &key, &order).await?;
        order.quantity += 1;
        let mismatch = place_order(&pool, &key, &order).await;
        pool.close().await;
        match mismatch {
            Err(Error::Mismatch(mismatch)) if replay.replayed() && !first.replayed() => Ok(Self {
                first: Made::Result(first),
                replay: Made::Result(replay),
                mismatch: Made::Mismatch(mismatch),
            }),
            _ => Err("the engine does not answer as it should".into()),
        }
    }
}

/// The scope that stands for authentication.
pub(crate) fn scope() -> Scope {
    Scope::new("acme").expect("a scope")
}

/// The outcome of the next call.
static NEXT: Mutex<Option<Result<Replayable<()>, Error>>> = Mutex::new(None);

/// Sets the outcome of the next call.
pub(crate) fn next_is(made: &Made) {
    let outcome = match made {
        Made::Result(result) => Ok(*result),
        Made::Mismatch(mismatch) => Err(Error::Mismatch(mismatch.clone())),
    };
    *NEXT.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
}

/// Stands for a call of [`place_order`] and has the outcome that was set.
///
/// # Panics
/// Panics if none was set.
pub(crate) fn outcome_of(key: &IdempotencyKey, order: Order) -> Result<Replayable<Placed>, Error> {
    black_box(key);
    let outcome = NEXT.lock().unwrap_or_else(PoisonError::into_inner).take();
    let outcome = outcome.expect("an outcome is set before each call");
    Ok(outcome?.map(|()| placed(order)))
}

/// The body of the handler, and all of the bare one.
pub(crate) fn placed(order: Order) -> Placed {
    Placed {
        number: i64::from(black_box(order.quantity)),
        item: order.item,
    }
}
