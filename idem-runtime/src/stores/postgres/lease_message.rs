//! Lease mode's claim, its later writes and its heartbeats, in one message each.
//!
//! ```text
//! claim:     open, lock │ look up │ INSERT if the lock is granted and there is no record
//! write:     open       │ UPDATE of one record
//! heartbeat: open       │ UPDATE of all leases that are due
//! ```
//!
//! # Why it is right
//!
//! **The transaction.** The server runs the statements of one message as one transaction, though neither BEGIN
//! nor COMMIT is among them. If a statement fails, all are undone; after the last one, the server commits.
//! The driver does not know of a transaction, and there is none before or after. So the connection is clean
//! whenever the future that waits for the answer is dropped. The first two statements set the isolation, let
//! the transaction write, and make it durable. They fail in a transaction that was begun before, which the
//! message would otherwise become a part of.
//!
//! **The claim.** Each statement has its own snapshot, because the transaction reads committed data. So the
//! look-up sees the record of an attempt that held the lock before. The INSERT has the conditions of a first
//! run: the lock is granted, the table is known to be fit, and the key has no record. Everything else is decided
//! by the look-up that the same message returns. If a record is to be replaced, or the table to be verified,
//! the claim begins again in separate messages.
//!
//! **The answer.** The last statement returns the attempt that it wrote, before the server commits. If the server
//! reports an error before that answer, nothing was committed. If the connection is lost, or the error comes
//! after it, the outcome is open.

use std::collections::HashSet;
use std::future::poll_fn;
use std::mem;

use sqlx::postgres::{PgConnection, PgRow, Postgres};
use sqlx::{AssertSqlSafe, Either, Executor as _, Row as _};

use super::super::backend::Backend as _;
use super::super::lease::{Due, LeaseRequest, Leased, Plan, Write};
use super::super::lease_sql::values_of;
use super::super::session::CommitError;
use super::claim::PgClaimRequest;
use super::statement::Statement;
use super::unit::lock_answer;
use super::{error, look_up_text, read_lookup, sql};
use crate::decision::KeyBefore;
use crate::values::error::Error;
use crate::values::record::AttemptId;

/// Claims a key that has no record, and answers for one that has a record which stays. Returns `None` if the
/// claim needs more messages than this one, which then wrote nothing.
pub(super) async fn claim(
    conn: &mut PgConnection,
    request: &PgClaimRequest,
    lease_request: &LeaseRequest<'_>,
) -> Result<Option<Leased>, CommitError> {
    let insert = insert(request, lease_request);
    let text = [
        sql::lease::open_to_claim(request),
        look_up_text(request),
        insert,
    ];
    let answers = match send(conn, &text).await {
        Ok(answers) => answers,
        Err(NotDone::Statement(error)) if error::is_our_conflict(&error, &request.table) => {
            return Ok(Some(Leased::Conflict {
                found_record: false,
            }));
        }
        Err(not_done) => {
            let privilege = "SELECT, INSERT, UPDATE";
            return Err(not_done.report(conn, &request.table, privilege).await);
        }
    };
    // A record that the look-up saw may have been purged before the INSERT: then the key has none.
    if is_written(&answers, request.attempt_id) {
        return Ok(Some(Leased::Taken {
            attempt: 1,
            before: KeyBefore::Unused,
        }));
    }
    let found = answers
        .get(sql::lease::OPENING)
        .and_then(|rows| rows.first());
    let (mut found, claims) = found
        .ok_or_else(|| CommitError::Ambiguous(error::out_of_sync()))
        .and_then(|row| read_lookup(row, request).map_err(CommitError::RolledBack))?;
    found.lookup.lock = lock_answer(&claims, request)
        .ok_or_else(|| CommitError::Ambiguous(error::out_of_sync()))?;
    Ok(match lease_request.plan(found.lookup) {
        Plan::Answer(leased) => Some(leased),
        Plan::Write { .. } | Plan::Lapse(_) => None,
    })
}

fn insert(request: &PgClaimRequest, lease_request: &LeaseRequest<'_>) -> String {
    let lease = lease_request.lease;
    let fingerprint = lease_request.fingerprint;
    Statement::new(sql::lease::claim(request, lease_request.format), false)
        .bind(request.identity.namespace())
        .bind(request.identity.scope().as_str())
        .bind(request.identity.key().as_str())
        .bind(lease.micros())
        .bind(request.attempt_id.as_uuid())
        .bind(1_i32)
        .bind(lease_request.input.operation)
        .bind(fingerprint.as_ref().map(|hash| hash.as_bytes().as_slice()))
        .bind(lease_request.request)
        .bind(lease.on_lapse().code())
        .into_text()
}

/// Makes one conditional UPDATE, and returns whether a record met its condition.
pub(super) async fn write(
    conn: &mut PgConnection,
    request: &PgClaimRequest,
    write: &Write<'_>,
) -> Result<bool, CommitError> {
    let text = [
        sql::lease::open(),
        update(request, write, false).into_text(),
    ];
    match send(conn, &text).await {
        Ok(answers) => Ok(is_written(&answers, write.becomes)),
        Err(not_done) => Err(not_done
            .report(conn, &request.table, "SELECT, UPDATE")
            .await),
    }
}

/// Returns the statement of one conditional UPDATE.
pub(super) fn update(request: &PgClaimRequest, write: &Write<'_>, named: bool) -> Statement {
    let mut query = Statement::new(
        sql::lease::update(request, (write.change, write.codec)),
        named,
    )
    .bind(request.identity.namespace())
    .bind(request.identity.scope().as_str())
    .bind(request.identity.key().as_str())
    .bind(write.expected.as_uuid())
    .bind(write.becomes.as_uuid());
    let (lasts, payload) = values_of(write.change);
    if lasts {
        query = query.bind(write.lasts);
    }
    if payload {
        query = query.bind(write.result).bind(write.failure);
    }
    query
}

/// Extends the leases whose records are free, and returns their attempts.
pub(super) async fn extend(
    conn: &mut PgConnection,
    table: &str,
    due: &[Due<'_>],
) -> Result<HashSet<AttemptId>, CommitError> {
    let text = [sql::lease::open(), sql::lease::extend(table, due)];
    match send(conn, &text).await {
        Ok(answers) => {
            let extended = answers.last().map(|rows| ids(rows));
            extended
                .unwrap_or_else(|| Ok(HashSet::new()))
                .map_err(CommitError::RolledBack)
        }
        Err(not_done) => Err(not_done.report(conn, table, "SELECT, UPDATE").await),
    }
}

/// Reads rows of one attempt each.
pub(super) fn ids(rows: &[PgRow]) -> Result<HashSet<AttemptId>, Error> {
    rows.iter()
        .map(|row| row.try_get(0).map(AttemptId::from_uuid))
        .collect::<Result<_, _>>()
        .map_err(error::map_error)
}

/// Why a message was not done. The server has undone all of it, unless the outcome is [open](Self::Open).
enum NotDone {
    /// The transaction could not be opened.
    Opening(sqlx::Error),
    /// A later statement failed.
    Statement(sqlx::Error),
    /// The server refused to commit.
    Commit(sqlx::Error),
    /// The message may have been done.
    Open(sqlx::Error),
}

impl NotDone {
    /// Maps the error, and ends a transaction that was begun before.
    async fn report(
        self,
        conn: &mut PgConnection,
        table: &str,
        privilege: &'static str,
    ) -> CommitError {
        CommitError::RolledBack(match self {
            Self::Open(error) => return CommitError::Ambiguous(error),
            Self::Opening(error) => {
                let refusal = error::begin_error(error);
                if matches!(refusal, Error::AlreadyInTransaction) {
                    Postgres::clear(conn).await;
                }
                refusal
            }
            Self::Statement(error) => error::table_error(error, table, privilege),
            Self::Commit(error) => error::commit_error(error),
        })
    }
}

/// Sends these texts as one message, and returns the rows of each of its statements. The first text has
/// [`sql::lease::OPENING`] statements, each other one has one.
async fn send(conn: &mut PgConnection, texts: &[String]) -> Result<Vec<Vec<PgRow>>, NotDone> {
    let statements = sql::lease::OPENING + texts.len() - 1;
    let text = texts.join("; ");
    let (mut answers, mut rows) = (Vec::with_capacity(statements), Vec::new());
    let failed = {
        let mut stream = conn.fetch_many(sqlx::raw_sql(AssertSqlSafe(text)));
        loop {
            match poll_fn(|context| stream.as_mut().poll_next(context)).await {
                Some(Ok(Either::Left(_))) => answers.push(mem::take(&mut rows)),
                Some(Ok(Either::Right(row))) => rows.push(row),
                Some(Err(error)) => break Some(error),
                None => break None,
            }
        }
    };
    match failed {
        None if answers.len() == statements => Ok(answers),
        None => Err(NotDone::Open(error::out_of_sync())),
        Some(error) => {
            // The last statement's rows are sent before the server commits, and its end is sent after.
            let is_last_done = answers.len() + 1 == statements && !rows.is_empty();
            let may_be_committed = is_last_done || answers.len() == statements;
            let is_open = may_be_committed || !error::is_servers(&error);
            Err(if is_open && error::is_ambiguous(&error) {
                NotDone::Open(error)
            } else if may_be_committed {
                NotDone::Commit(error)
            } else if answers.len() < sql::lease::OPENING {
                NotDone::Opening(error)
            } else {
                NotDone::Statement(error)
            })
        }
    }
}

/// Returns whether the last statement wrote the record of this attempt.
fn is_written(answers: &[Vec<PgRow>], attempt: AttemptId) -> bool {
    let row = answers.last().and_then(|rows| rows.first());
    let attempt = attempt.as_uuid().hyphenated().to_string();
    row.is_some_and(|row| row.try_get(0).is_ok_and(|written: &str| written == attempt))
}
