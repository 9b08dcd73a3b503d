//! Claims a key: looks the record up, begins the transaction, decides, and prepares for the body.
//!
//! [`try_claim`] has one function for each phase. Pool hygiene is in `connection`, and `retry` says
//! whether an error or a decision leads to another attempt.

use sqlx::{Database, Transaction};

use super::claim::Claim;
use super::connection::{ConnectionGuard, ConnectionState};
use super::retry::{NotClaimed, Retries, Retry};
use super::rollback::roll_back;
use crate::calls::kit::request::Request;
use crate::decision::{Decision, KeyBefore, decide};
use crate::stores::hold::decide_held;
use crate::stores::{
    Backend, ClaimOf, ClaimRequest, Found, FoundBy, NotOpened, PoolTraitsOf, Session,
};
use crate::values::error::Error;
use crate::values::policy::DEFAULT_RETRY_AFTER;

/// Tries once to claim the key. Returns a claim if the body is to run.
pub(super) async fn try_claim<'u, DB: Backend>(
    connection: &'u mut ConnectionGuard<'_, DB>,
    retries: &mut Retries<DB::Approach>,
    request: &mut Request,
    recording: bool,
) -> Result<Claim<'u, DB>, NotClaimed<DB::Approach>> {
    connection.end_unresolved_begin().await?;
    let claim_request = new_claim_request(connection, request)?;
    let mut approach = retries
        .resume(connection, request, claim_request.as_ref())
        .await?;
    acquire(connection, retries, request, claim_request.as_ref()).await?;
    if !connection.is_clean().await? {
        return Err(NotClaimed::Again(Retry::DirtyConnection));
    }
    let pooled = connection.is_pooled();
    let (conn, state) = connection.connect().await.map_err(DB::map_error)?;
    let own = !conn.has_transaction();
    if let Some(claim_request) = claim_request.as_ref().filter(|_| own) {
        let claim_request = (claim_request, &mut approach);
        look_up_before_begin::<DB>(conn, state, claim_request, request, retries).await?;
    }
    state.set_close_on_drop(own);
    let begun = begin::<DB>(conn, claim_request.as_ref(), approach, own, recording).await;
    let (tx, found) = match begun {
        Ok(begun) => begun,
        // The connection is closed on drop until the transaction begun on it has ended; the next
        // attempt does that first.
        Err(NotOpened::Again(approach)) => {
            return Err(NotClaimed::Again(Retry::Approach(approach)));
        }
        Err(NotOpened::Failed(error)) if own => {
            return Err(begin_failed::<DB>(error, pooled, state, request, retries));
        }
        Err(NotOpened::Failed(error)) => return Err(error.into()),
    };
    state.set_close_on_drop(own && pooled);
    let claim = Claim::on(tx, state, own, request);
    match found {
        Some(found) => decide_in_transaction(claim, found, request, recording, retries).await,
        None => Ok(claim),
    }
}

/// Acquires a connection, unless others already wait for the key: then the call waits with them. Before
/// the pool's queue and after it, because the first of them may have come in between.
async fn acquire<DB: Backend>(
    connection: &mut ConnectionGuard<'_, DB>,
    retries: &mut Retries<DB::Approach>,
    request: &Request,
    claim_request: Option<&ClaimRequest<PoolTraitsOf<DB>>>,
) -> Result<(), NotClaimed<DB::Approach>> {
    if let Some(waits) = retries.join(connection, request, claim_request) {
        return Err(waits);
    }
    let acquired = connection.acquire_by(retries.deadline()).await;
    if !acquired.map_err(DB::map_error)? {
        let over = Decision::Refuse(Error::in_flight(DEFAULT_RETRY_AFTER));
        return Err(NotClaimed::Decided(over));
    }
    retries
        .join(connection, request, claim_request)
        .map_or(Ok(()), Err)
}

/// Returns the request of a new attempt, or `None` for a call without a key.
fn new_claim_request<DB: Backend>(
    connection: &mut ConnectionGuard<'_, DB>,
    request: &mut Request,
) -> Result<Option<ClaimRequest<PoolTraitsOf<DB>>>, Error> {
    let pool_traits = connection.pool_traits()?;
    request.claim_request(pool_traits)
}

/// Looks the record up where beginning a transaction would wait for other keys. Returns the decision if
/// it is not to run the body.
async fn look_up_before_begin<DB: Backend>(
    conn: &mut DB::Connection,
    state: &mut ConnectionState,
    (claim_request, approach): (&ClaimRequest<PoolTraitsOf<DB>>, &mut DB::Approach),
    request: &Request,
    retries: &mut Retries<DB::Approach>,
) -> Result<(), NotClaimed<DB::Approach>> {
    let lookup = match DB::look_up_before_begin(conn, claim_request, approach).await {
        Ok(None) => return Ok(()),
        Ok(Some(lookup)) => lookup,
        Err(error) => return Err(retries.after_error::<DB>(error, true, request)),
    };
    match decide(lookup, request.decide_input()) {
        Decision::Run { .. } => Ok(()),
        decision => {
            state.set_close_on_drop(false);
            Err(retries.after_decision(decision, request))
        }
    }
}

/// A unit of work, and what claiming in it found if the call has a key.
type Begun<'c, DB> = (
    Transaction<'c, DB>,
    Option<Result<FoundBy<<DB as Database>::Connection>, Error>>,
);

/// Begins the unit of work, and claims in it if the call has a key.
async fn begin<'c, DB: Backend>(
    conn: &'c mut DB::Connection,
    claim_request: Option<&ClaimRequest<PoolTraitsOf<DB>>>,
    approach: DB::Approach,
    own: bool,
    recording: bool,
) -> Result<Begun<'c, DB>, NotOpened<DB::Approach>> {
    Ok(match (claim_request, own) {
        (Some(claim_request), true) => {
            let (tx, found) = DB::open_to_run(conn, claim_request, approach, recording).await?;
            (tx, Some(found))
        }
        (None, true) => (DB::open_plain(conn).await?, None),
        (Some(claim_request), false) => {
            let (tx, found) = DB::join(conn, claim_request).await?;
            (tx, Some(found))
        }
        (None, false) => (DB::join_plain(conn).await?, None),
    })
}

/// Returns what to do after the library's own BEGIN failed. It may have left a transaction on the
/// connection: unless the connection is closed, the next attempt ends that transaction first.
fn begin_failed<DB: Backend>(
    error: Error,
    pooled: bool,
    state: &mut ConnectionState,
    request: &Request,
    retries: &mut Retries<DB::Approach>,
) -> NotClaimed<DB::Approach> {
    let retry = match retries.after_error::<DB>(error, true, request) {
        NotClaimed::Failed(error) if !pooled => Retry::BeginFailed(error),
        NotClaimed::Again(retry) => retry,
        other => return other,
    };
    state.set_begin_unresolved();
    NotClaimed::Again(retry)
}

/// Decides inside the transaction and prepares for the body.
async fn decide_in_transaction<'u, DB: Backend>(
    mut claim: Claim<'u, DB>,
    found: Result<FoundBy<DB::Connection>, Error>,
    request: &Request,
    recording: bool,
    retries: &mut Retries<DB::Approach>,
) -> Result<Claim<'u, DB>, NotClaimed<DB::Approach>> {
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            roll_back(claim.tx, claim.state).await;
            // The body has not run, so the whole call may start again.
            return Err(retries.after_error::<DB>(error, claim.own, request));
        }
    };
    let Found {
        lookup,
        claim: held,
    } = found;
    let decided = decide_held(
        &mut *claim.tx,
        &held.request,
        lookup,
        request.decide_input(),
    );
    let decision = match decided.await {
        Ok(decision) => decision,
        Err(error) => {
            roll_back(claim.tx, claim.state).await;
            return Err(retries.after_error::<DB>(error, claim.own, request));
        }
    };
    let stopped = match decision {
        Decision::Run {
            replaces,
            attempt,
            before,
        } => match prepare(&mut *claim.tx, &held, recording).await {
            Ok(()) => {
                (claim.replaces, claim.attempt) = (replaces, attempt);
                claim.expired = before == KeyBefore::Expired;
                return Ok(claim.holding(held));
            }
            Err(refusal @ Error::InFlight { .. }) => Ok(Decision::Refuse(refusal)),
            Err(error) => Err(error),
        },
        decision => Ok(decision),
    };
    roll_back(claim.tx, claim.state).await;
    Err(retries.after_decision(stopped?, request))
}

/// Verifies the table if needed and sets the savepoint before the body.
async fn prepare<S: Session>(
    conn: &mut S,
    held: &ClaimOf<S>,
    recording: bool,
) -> Result<(), Error> {
    if !held.verified {
        conn.verify(held).await?;
    }
    conn.set_savepoint(held, recording).await
}
