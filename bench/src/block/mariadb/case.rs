//! The cases as data, and one call of each.

use idem_runtime::{Error, Replayable};
use sqlx::MySqlPool;

use super::work::{hand, hand_leased, hand_replay, pay, pay_leased, plain, select};
use crate::Fault;
use crate::work::{Pay, fresh_key, key};

/// The work of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    /// Acquires a connection and returns it: the pool's pings without any work.
    Nothing,
    Plain,
    Hand,
    First,
    Caller,
    Select,
    HandReplay,
    Replay,
    Mismatch,
    HandLeased,
    Leased,
}

pub(super) const PLAIN: &str = "plain, 1 statement";
pub(super) const SELECT: &str = "one SELECT";
pub(super) const HAND_LEASED: &str = "insert, pay, update by hand";

/// Each case, its work, and the case that it is compared with.
pub(super) const CASES: [(&str, Deed, &str); 10] = [
    (PLAIN, Deed::Plain, PLAIN),
    ("by hand", Deed::Hand, PLAIN),
    ("first run", Deed::First, PLAIN),
    ("caller's transaction", Deed::Caller, PLAIN),
    (SELECT, Deed::Select, SELECT),
    ("replay by hand", Deed::HandReplay, SELECT),
    ("replay", Deed::Replay, SELECT),
    ("mismatch", Deed::Mismatch, SELECT),
    (HAND_LEASED, Deed::HandLeased, HAND_LEASED),
    ("leased", Deed::Leased, HAND_LEASED),
];

/// The key that is recorded.
pub(super) const RECORDED: &str = "recorded";
/// The key that is recorded by hand.
pub(super) const RECORDED_BY_HAND: &str = "recorded by hand";

/// Makes one call through the pool.
pub(super) async fn perform(deed: Deed, pool: &MySqlPool) -> Result<(), Fault> {
    let fresh = fresh_key();
    let cmd = Pay::next();
    match deed {
        Deed::Nothing => drop(pool.acquire().await?),
        Deed::Plain => drop(plain(pool, &cmd).await?),
        Deed::Hand => drop(hand(pool, fresh.as_str(), &cmd).await?),
        Deed::First => is(&pay(pool, &fresh, &cmd).await?, false)?,
        Deed::Caller => {
            let mut tx = pool.begin().await?;
            is(&pay(&mut tx, &fresh, &cmd).await?, false)?;
            tx.commit().await?;
        }
        Deed::Select => drop(select(pool, RECORDED).await?),
        Deed::HandReplay => drop(hand_replay(pool, RECORDED_BY_HAND, &Pay::of(1)).await?),
        Deed::Replay => is(&pay(pool, &key(RECORDED), &Pay::of(1)).await?, true)?,
        Deed::Mismatch => match pay(pool, &key(RECORDED), &Pay::of(2)).await {
            Err(crate::work::PayError::Idempotency(Error::Mismatch(_))) => {}
            other => return Err(format!("no mismatch: {other:?}").into()),
        },
        Deed::HandLeased => drop(hand_leased(pool, fresh.as_str(), &cmd).await?),
        Deed::Leased => is(&pay_leased(pool, &fresh, cmd, pool.clone()).await?, false)?,
    }
    Ok(())
}

fn is<T>(answer: &Replayable<T>, replayed: bool) -> Result<(), Fault> {
    if answer.replayed() == replayed {
        Ok(())
    } else {
        Err("a first run in place of a replay, or the reverse".into())
    }
}
