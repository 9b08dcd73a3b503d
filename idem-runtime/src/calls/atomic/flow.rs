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

use std::pin::pin;

use sqlx::Transaction;
use tracing::instrument::Instrumented;
use tracing::{Instrument as _, Span};

use super::connection::ConnectionGuard;
use super::ending::{self, Ending};
use super::resolve;
use super::retry::NotClaimed;
use super::try_claim::try_claim;
use super::unit::Unit;
use crate::calls::kit::answer::Answer;
use crate::calls::kit::contract::Contract;
use crate::calls::kit::request::Request;
use crate::calls::kit::review::answered;
use crate::calls::telemetry::Observed;
use crate::stores::{Backend, PoolTraitsOf};
use crate::values::error::Error;
use crate::values::policy::DEFAULT_RETRY_AFTER;
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
    let waited = retries.waits_next();
    let span = request.observed_mut().claim(DB::NAME);
    // Pinned here: to move a future costs as much as its size.
    let tried = pin!(try_claim(connection, retries, request, recording))
        .instrument(span)
        .await;
    if let Ok(mut claim) = tried {
        retries.end_turn();
        claim.observed.claimed(waited);
        if claim.held.is_some() {
            claim.observed.meter().started(claim.expired);
        }
        return Step::Run(claim);
    }
    request.observed_mut().claimed(waited);
    let answer: Answer<T, E> = match tried {
        Ok(_) => return Step::Again,
        Err(NotClaimed::Again(retry)) => {
            retries.set_next(retry);
            return Step::Again;
        }
        Err(NotClaimed::Decided(decision)) => {
            Answer::of(decision, || Error::FreshTransactionNeeded)
        }
        Err(NotClaimed::Failed(error)) => Answer::Refused(error),
    };
    Step::Done(answered(request, answer, contract))
}

/// Returns the transaction that the body uses.
pub fn tx<'a, 'u, DB: Backend>(claim: &'a mut Claim<'u, DB>) -> &'a mut Transaction<'u, DB> {
    &mut claim.tx
}

/// Runs the body in the span of its call.
pub fn body<F: Future>(request: &Request, body: F) -> Instrumented<F> {
    request.observed().body(body)
}

/// The end of a claim, which no longer borrows the unit.
pub struct Finished<DB: Backend, T, E> {
    ending: Ending<PoolTraitsOf<DB>, T, E>,
    observed: Observed,
    span: Span,
}

/// Records the result and commits it with the body's writes, or rolls both back.
pub async fn finish<DB: Backend, T, E>(
    mut claim: Claim<'_, DB>,
    result: Result<T, E>,
    contract: &Contract<T, E>,
) -> Finished<DB, T, E> {
    let span = claim.observed.finish(DB::NAME);
    let observed = claim.observed.clone();
    let ending = match result {
        Ok(value) => {
            pin!(ending::succeeded(claim, value, contract))
                .instrument(span.clone())
                .await
        }
        Err(error) => {
            pin!(ending::failed(claim, error, contract))
                .instrument(span.clone())
                .await
        }
    };
    Finished {
        ending,
        observed,
        span,
    }
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
    let Finished {
        ending,
        mut observed,
        span,
    } = finished;
    let mut answer = pin!(answer(&mut unit.connection, &request, ending))
        .instrument(span)
        .await;
    observed.finished();
    if request.is_reviewed() && answer.is_replay() {
        // The body has the parameters that the review needs. The next call is reviewed.
        answer = Answer::Refused(Error::in_flight(DEFAULT_RETRY_AFTER));
    }
    answered(&mut request, answer, contract)
}

/// Returns the answer of an end.
async fn answer<DB: Backend, T, E>(
    connection: &mut ConnectionGuard<'_, DB>,
    request: &Request,
    ending: Ending<PoolTraitsOf<DB>, T, E>,
) -> Answer<T, E> {
    let in_sync = connection.check_sync().await;
    let answer = match ending {
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
        } => resolve::after_conflict(connection, request, &claim_request, snapshot, refusal).await,
        Ending::Refused {
            claim_request,
            with_commit: true,
            answer,
            ..
        } if !in_sync => {
            resolve::lost_commit(
                connection,
                request,
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
        } => resolve::after_failure(connection, request, &claim_request, error).await,
        Ending::Ambiguous {
            claim_request: Some(claim_request),
            lost,
            answer,
        } => resolve::lost_commit(connection, request, &claim_request, lost, answer).await,
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
    answer
}
