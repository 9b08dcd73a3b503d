//! Ends a claim: records and commits, or rolls back.

use sqlx::Transaction;

use super::claim::Claim;
use super::connection::ConnectionState;
use super::rollback::{roll_back_body, roll_back_nested};
use crate::calls::kit::answer::Answer;
use crate::calls::kit::contract::Contract;
use crate::stores::{
    self, Backend, BodyWrites, ClaimRequest, CommitError, FinishOutcome, NewRecord, PoolTraitsOf,
    Written,
};
use crate::values::codec::Column;
use crate::values::error::Error;
use crate::values::record::Status;

/// How a claim ended.
pub(super) enum Ending<P, T, E> {
    Answered(Answer<T, E>),
    /// Another attempt's record made the INSERT fail; this attempt is rolled back. `refusal` is the
    /// database's error if it may have another cause; it is the answer if no such record exists.
    Conflict {
        claim_request: ClaimRequest<P>,
        snapshot: bool,
        refusal: Option<Error>,
    },
    /// The record was refused; this attempt is rolled back. `with_commit` is set if COMMIT was in
    /// the same message.
    Refused {
        claim_request: ClaimRequest<P>,
        refusal: Error,
        with_commit: bool,
        answer: Answer<T, E>,
    },
    /// The body failed while it read from a snapshot older than the lock: a competing attempt may
    /// have committed since.
    FailedInSnapshot {
        claim_request: ClaimRequest<P>,
        error: E,
    },
    /// COMMIT was sent and its answer was lost. `answer` is right if the COMMIT was executed.
    Ambiguous {
        claim_request: Option<ClaimRequest<P>>,
        lost: sqlx::Error,
        answer: Answer<T, E>,
    },
}

/// Ends a claim whose body returned `Ok`.
pub(super) async fn succeeded<DB: Backend, T, E>(
    mut claim: Claim<'_, DB>,
    value: T,
    contract: &Contract<T, E>,
) -> Ending<PoolTraitsOf<DB>, T, E> {
    if !roll_back_nested(&mut claim.tx, claim.depth, claim.state).await {
        return roll_back_and_answer(claim, Answer::Refused(Error::TransactionEnded)).await;
    }
    if claim.held.is_none() {
        if let Err(refusal) = DB::check_transaction(&mut claim.tx).await {
            return roll_back_and_answer(claim, Answer::Refused(refusal)).await;
        }
        let Claim { tx, state, own, .. } = claim;
        return commit(tx, state, own, None, Answer::Unkeyed(value)).await;
    }
    let limit = claim.request_snapshot.operation.policy().result_limit;
    match contract.encode(limit, &claim.request_snapshot.name, &value) {
        Ok((bytes, value)) => {
            record(claim, Status::Completed, &bytes, Answer::Executed(value)).await
        }
        Err(refusal) => roll_back_and_answer(claim, Answer::Refused(refusal)).await,
    }
}

/// Ends a claim whose body returned `Err`.
pub(super) async fn failed<DB: Backend, T, E>(
    mut claim: Claim<'_, DB>,
    error: E,
    contract: &Contract<T, E>,
) -> Ending<PoolTraitsOf<DB>, T, E> {
    // Transactions that the body left open are rolled back with it.
    roll_back_nested(&mut claim.tx, claim.depth, claim.state).await;
    let name = &claim.request_snapshot.name;
    let limit = claim.request_snapshot.operation.policy().result_limit;
    let held = claim.held.as_ref();
    match held.and_then(|_| contract.encode_failure(limit, name, &error)) {
        Some(Ok((bytes, error))) => {
            let answer = Answer::FailureRecorded(error);
            return record(claim, Status::Failed, &bytes, answer).await;
        }
        Some(Err(refusal)) => return roll_back_and_answer(claim, Answer::Refused(refusal)).await,
        None => {}
    }
    let ended = match &claim.held {
        Some(held) => DB::has_ended(&mut claim.tx, held).await,
        None => Ok(false),
    };
    if ended.is_err() {
        claim.state.set_out_of_sync();
    }
    roll_back_body(claim.tx, claim.state).await;
    if let Ok(true) = ended {
        return Ending::Answered(Answer::Refused(Error::TransactionEnded));
    }
    match claim.held {
        Some(held) if claim.own && held.snapshot => Ending::FailedInSnapshot {
            claim_request: held.request,
            error,
        },
        _ => Ending::Answered(Answer::Failed(error)),
    }
}

async fn roll_back_and_answer<DB: Backend, T, E>(
    claim: Claim<'_, DB>,
    answer: Answer<T, E>,
) -> Ending<PoolTraitsOf<DB>, T, E> {
    if matches!(&answer, Answer::Refused(refusal) if refusal.is_out_of_step()) {
        claim.state.set_out_of_sync();
    }
    roll_back_body(claim.tx, claim.state).await;
    Ending::Answered(answer)
}

/// Writes the record as the last statement and commits.
async fn record<DB: Backend, T, E>(
    claim: Claim<'_, DB>,
    status: Status,
    payload: &[u8],
    answer: Answer<T, E>,
) -> Ending<PoolTraitsOf<DB>, T, E> {
    let Claim {
        mut tx,
        state,
        own,
        held: Some(held),
        replaces,
        attempt,
        request_snapshot,
        ..
    } = claim
    else {
        return Ending::Answered(answer);
    };
    let failed = status == Status::Failed;
    let (column, body_writes) = if failed {
        (Column::Failure, BodyWrites::Discard)
    } else {
        (Column::Result, BodyWrites::Keep)
    };
    let (identity, attempt_id) = (&held.request.identity, held.request.attempt_id);
    let (request, payload) = match request_snapshot.protect(identity, attempt_id, column, payload) {
        Ok(protected) => protected,
        Err(refusal) => {
            roll_back_body(tx, state).await;
            return Ending::Answered(Answer::Refused(refusal));
        }
    };
    let retention = request_snapshot.operation.policy().retention.as_micros();
    let record = NewRecord {
        status,
        operation: &request_snapshot.name,
        fingerprint: request_snapshot.fingerprint,
        format: request_snapshot.call_codec.format(),
        request: request.as_deref(),
        result: (!failed).then_some(&*payload),
        failure: failed.then_some(&*payload),
        retention: i64::try_from(retention).unwrap_or(i64::MAX),
        replaces,
        attempt,
    };
    let outcome = if own {
        DB::finish(tx, &held, &record, body_writes).await
    } else {
        match stores::write(&mut *tx, &held, &record, body_writes).await {
            Ok(Written::Done) => return commit(tx, state, own, Some(held.request), answer).await,
            Ok(Written::Conflict) => FinishOutcome::Conflict(tx),
            Err(error) => FinishOutcome::Refused(tx, error),
        }
    };
    if matches!(&outcome, FinishOutcome::Refused(_, refusal) if refusal.is_out_of_step()) {
        state.set_out_of_sync();
    }
    match outcome {
        FinishOutcome::Committed => {
            state.set_close_on_drop(false);
            Ending::Answered(answer)
        }
        FinishOutcome::Conflict(tx) => {
            roll_back_body(tx, state).await;
            Ending::Conflict {
                snapshot: held.snapshot,
                claim_request: held.request,
                refusal: None,
            }
        }
        FinishOutcome::Refused(tx, refusal) if DB::may_be_conflict(&refusal) => {
            roll_back_body(tx, state).await;
            Ending::Conflict {
                snapshot: held.snapshot,
                claim_request: held.request,
                refusal: Some(refusal),
            }
        }
        FinishOutcome::Refused(tx, refusal) => {
            let rolled_back = roll_back_body(tx, state).await;
            let refusal = match refusal {
                // The savepoint no longer exists, because the body ended the caller's transaction.
                Error::TableMoved { .. } if !own && !rolled_back => Error::TransactionEnded,
                refusal => refusal,
            };
            Ending::Refused {
                with_commit: own && DB::finishes_in_one(&held),
                claim_request: held.request,
                refusal,
                answer,
            }
        }
        FinishOutcome::Failed(error) => not_committed(error, Some(held.request), answer),
    }
}

/// Sends COMMIT of the library's own transaction, or RELEASE SAVEPOINT in the caller's.
async fn commit<DB: Backend, T, E>(
    mut tx: Transaction<'_, DB>,
    state: &mut ConnectionState,
    own: bool,
    claim_request: Option<ClaimRequest<PoolTraitsOf<DB>>>,
    answer: Answer<T, E>,
) -> Ending<PoolTraitsOf<DB>, T, E> {
    let committed = if own {
        match DB::end(&mut tx).await {
            Err(CommitError::RolledBack(refusal)) => {
                roll_back_body(tx, state).await;
                return Ending::Answered(Answer::Refused(refusal));
            }
            ended => ended,
        }
    } else {
        tx.commit()
            .await
            .map_err(|error| CommitError::RolledBack(DB::map_error(error)))
    };
    match committed {
        Ok(()) => {
            state.set_close_on_drop(false);
            Ending::Answered(answer)
        }
        Err(error) => not_committed(error, claim_request, answer),
    }
}

fn not_committed<P, T, E>(
    error: CommitError,
    claim_request: Option<ClaimRequest<P>>,
    answer: Answer<T, E>,
) -> Ending<P, T, E> {
    match error {
        CommitError::RolledBack(error) => Ending::Answered(Answer::Refused(error)),
        CommitError::Ambiguous(lost) => Ending::Ambiguous {
            claim_request,
            lost,
            answer,
        },
    }
}
