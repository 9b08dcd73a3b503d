//! The answer of a client's handlers to a call, with the fault that is planted in them.

use super::calls::{Done, Fate, Refused};
use super::handlers::{Asking, Bank};
use super::planted::Planted;

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
