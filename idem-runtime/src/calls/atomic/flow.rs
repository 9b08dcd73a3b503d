//! The order of a call: key, fingerprint, claim, body, finish, replay.
//!
//! A generated handler calls [`claim`] until it returns `Run` or `Done`, runs its body, passes the
//! body's result to [`finish`], and the value of that to [`settle`]. These are three steps because
//! the claim borrows the unit's connection: a conflict with a competing attempt and a lost COMMIT
//! can be resolved only after the borrow has ended.
//!
//! **If a call is dropped at any await point**, its key is left unused or completed. Before COMMIT
//! is sent, the transaction is rolled back: a pooled connection is closed, and the server rolls
//! back. After COMMIT is sent, the server decides. **If the body panics**, the claim is dropped and
//! ends in the same way.

use sqlx::Transaction;

use super::ending::{self, Ending};
use super::resolve;
use super::retry::NotClaimed;
use super::try_claim::try_claim;
use super::unit::Unit;
use crate::calls::kit::answer::Answer;
use crate::calls::kit::contract::Contract;
use crate::calls::kit::request::Request;
use crate::stores::{Backend, PoolTraitsOf};
use crate::values::error::Error;
use crate::values::replay::Replayable;

pub use super::claim::Claim;

/// The next step of a call.
#[expect(
    clippy::large_enum_variant,
    reason = "moved once, at once: a box would cost each run an allocation"
)]
pub enum Step<'u, DB: Backend, T, E> {
    /// Run the body in this claim's transaction.
    Run(Claim<'u, DB>),
    /// Return this result.
    Done(Result<Replayable<T>, E>),
    /// Call [`claim`] again.
    Again,
}

/// Computes identity and fingerprint, and tries once to claim the key.
pub async fn claim<'u, DB: Backend, T, E>(
    unit: &'u mut Unit<'_, DB>,
    request: &mut Request,
    contract: &Contract<T, E>,
) -> Step<'u, DB, T, E> {
    let Unit {
        connection,
        retries,
    } = unit;
    request.begun(retries.waits());
    let recording = contract.records_failures();
    let answer: Answer<T, E> = match try_claim(connection, retries, request, recording).await {
        Ok(claim) => return Step::Run(claim),
        Err(NotClaimed::Again(retry)) => {
            retries.set_next(retry);
            return Step::Again;
        }
        Err(NotClaimed::Decided(decision)) => {
            Answer::of(decision, || Error::FreshTransactionNeeded)
        }
        Err(NotClaimed::Failed(error)) => Answer::Refused(error),
    };
    Step::Done(emit_and_answer(request, answer, contract))
}

/// Returns the transaction that the body uses.
pub fn tx<'a, 'u, DB: Backend>(claim: &'a mut Claim<'u, DB>) -> &'a mut Transaction<'u, DB> {
    &mut claim.tx
}

/// The end of a claim, which no longer borrows the unit.
pub struct Finished<DB: Backend, T, E>(Ending<PoolTraitsOf<DB>, T, E>);

/// Records the result and commits it with the body's writes, or rolls both back.
pub async fn finish<DB: Backend, T, E>(
    claim: Claim<'_, DB>,
    result: Result<T, E>,
    contract: &Contract<T, E>,
) -> Finished<DB, T, E> {
    Finished(match result {
        Ok(value) => ending::succeeded(claim, value, contract).await,
        Err(error) => ending::failed(claim, error, contract).await,
    })
}

/// Resolves a conflict or a lost COMMIT, and returns the answer.
///
/// # Errors
/// The body's own error, or an [`Error`] of the library, converted by `From`.
pub async fn settle<DB: Backend, T, E>(
    mut unit: Unit<'_, DB>,
    finished: Finished<DB, T, E>,
    mut request: Request,
    contract: &Contract<T, E>,
) -> Result<Replayable<T>, E> {
    let connection = &mut unit.connection;
    let in_sync = connection.check_sync().await;
    let answer = match finished.0 {
        Ending::Answered(Answer::Refused(refusal)) if !in_sync => {
            Answer::Refused(resolve::out_of_sync_at(refusal))
        }
        Ending::Answered(Answer::Refused(refusal)) => {
            Answer::Refused(resolve::behind_body(refusal))
        }
        Ending::Answered(answer) => answer,
        Ending::Conflict {
            claim_request,
            snapshot,
            refusal,
        } => resolve::after_conflict(connection, &request, &claim_request, snapshot, refusal).await,
        Ending::Refused {
            claim_request,
            with_commit: true,
            answer,
            ..
        } if !in_sync => {
            resolve::lost_commit(
                connection,
                &request,
                &claim_request,
                resolve::out_of_sync(),
                answer,
            )
            .await
        }
        Ending::Refused { refusal, .. } if !in_sync => {
            Answer::Refused(resolve::out_of_sync_at(refusal))
        }
        Ending::Refused { refusal, .. } => Answer::Refused(resolve::behind_body(refusal)),
        Ending::FailedInSnapshot {
            claim_request,
            error,
        } => resolve::after_failure(connection, &request, &claim_request, error).await,
        Ending::Ambiguous {
            claim_request: Some(claim_request),
            lost,
            answer,
        } => resolve::lost_commit(connection, &request, &claim_request, lost, answer).await,
        Ending::Ambiguous {
            claim_request: None,
            lost,
            ..
        } => Answer::Refused(Error::CommitUnknown(lost.into())),
    };
    if let Answer::Refused(Error::TransactionEnded) = &answer {
        // The body may have changed the session: selected another database, or locked tables.
        connection.close_on_drop();
    }
    emit_and_answer(&mut request, answer, contract)
}

/// Emits the call's event and returns its answer.
fn emit_and_answer<T, E>(
    request: &mut Request,
    answer: Answer<T, E>,
    contract: &Contract<T, E>,
) -> Result<Replayable<T>, E> {
    let answer = answer.decode(contract);
    request.emit(answer.outcome(), answer.record(), answer.refusal());
    answer.into_result(contract)
}
