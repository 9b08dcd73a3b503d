//! The faults that are planted on purpose.

use super::calls::{Done, Fate, Refused};
use super::handlers::{Asking, Bank};

/// A fault that is planted on purpose and that the checker must find. Its handlers are written by
/// hand; only the record's table and its values are the library's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Planted {
    /// No fault: the annotated handlers.
    Nothing,
    /// Looks up the key, then acts, and no constraint prevents two records of a key.
    NoConstraint,
    /// Commits the effect first and the record afterwards.
    RecordAfter,
    /// Replays a record that a look-up before the claim finds, whatever the request.
    MismatchSkipped,
    /// Treats a refused COMMIT as executed.
    RefusalIgnored,
    /// Makes an effect outside the database without a lease.
    LeaseIgnored,
    /// A lease's heartbeats wait for a connection behind the bodies that fill the pool.
    HeartbeatsShared,
}

impl Planted {
    /// Returns the fault with this name.
    pub fn named(name: &str) -> Option<Self> {
        [
            Self::Nothing,
            Self::NoConstraint,
            Self::RecordAfter,
            Self::MismatchSkipped,
            Self::RefusalIgnored,
            Self::LeaseIgnored,
            Self::HeartbeatsShared,
        ]
        .into_iter()
        .find(|planted| format!("{planted:?}") == name)
    }
}

/// Answers a call by the handlers with this fault. The flag says whether it was a replay.
///
/// # Errors
///
/// Returns the reason why there is no result.
pub async fn answer<B: Bank>(
    bank: &B,
    planted: Planted,
    asking: Asking,
) -> Result<(Done, bool), Refused> {
    let Asking {
        key, asked, fate, ..
    } = &asking;
    if matches!(
        planted,
        Planted::Nothing | Planted::LeaseIgnored | Planted::HeartbeatsShared
    ) {
        return bank.call(asking).await;
    }
    if let Some(done) = bank.recorded(key).await? {
        return Ok((done, true));
    }
    match planted {
        Planted::NoConstraint => Ok((bank.act(key, *asked, true, Fate::Succeeds).await?, false)),
        Planted::RefusalIgnored if *fate == Fate::RefusedAtCommit => {
            Ok((bank.act(key, *asked, false, *fate).await?, false))
        }
        Planted::RecordAfter => {
            let done = bank.act(key, *asked, false, Fate::Succeeds).await?;
            bank.note(key, *asked, done).await
        }
        Planted::Nothing
        | Planted::MismatchSkipped
        | Planted::RefusalIgnored
        | Planted::LeaseIgnored
        | Planted::HeartbeatsShared => bank.call(asking).await,
    }
}
