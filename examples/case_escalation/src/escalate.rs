//! The escalation of a case: five rows in one transaction.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use idem_runtime::{Failure, IdempotencyKey, StoredFailure, idempotent};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::SqliteTransaction;
use utoipa::ToSchema;

use crate::problem::{internal, refusal};

/// An officer's reason for it.
#[derive(Debug, Serialize, Deserialize, ToSchema)] // compared on every retry
pub struct Reason {
    /// The version of the case that the officer has read.
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub version: i64,
    /// The reason why it needs a supervisor.
    pub reason: String,
}

/// An escalation that has been made.
#[derive(Debug, Serialize, Deserialize, ToSchema)] // recorded, and replayed
pub struct Escalation {
    /// Its number.
    pub number: i64,
    /// The case.
    pub case: String,
    /// The version of the case that was escalated.
    pub version: i64,
}

/// The reasons why there is none.
#[derive(Debug, thiserror::Error, Failure)]
pub enum EscalateError {
    /// Somebody else was first. This stays true: it is recorded, and a retry gets it again.
    #[error("version {version} of case {case} was escalated before, as number {number}")]
    #[failure(permanent)]
    AlreadyEscalated {
        /// The case.
        case: String,
        /// Its version.
        version: i64,
        /// The number of the existing escalation.
        number: i64,
    },
    /// This may change, and the attempt left nothing behind: a retry looks again.
    #[error("there is no open case {case} at version {version}")]
    NotOpen {
        /// The case.
        case: String,
        /// The version that the officer has read.
        version: i64,
    },
    /// An error of the database.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// An error of the library.
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    /// A failure recorded by another build of this service.
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

impl IntoResponse for EscalateError {
    fn into_response(self) -> Response {
        let detail = self.to_string();
        let conflict = |code| refusal(StatusCode::CONFLICT, code, &detail);
        match self {
            Self::AlreadyEscalated { .. } => conflict("already-escalated"),
            Self::NotOpen { .. } => conflict("not-open"),
            Self::Recorded(failure) => conflict(&failure.class),
            Self::Database(_) => internal(),
            Self::Idempotency(error) => error.into_response(),
        }
    }
}

/// Escalates a case: one escalation for each of its versions.
///
/// # Errors
/// As the error's variants say.
#[idempotent(
    namespace = "cases",
    operation = "escalate",
    retention = "7d",
    failures = "record"
)]
pub async fn escalate(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    case: &str,
    officer: &str,
    cmd: &Reason,
) -> Result<Escalation, EscalateError> {
    // The constraint decides, and not a look-up before it: two officers could look at the same time.
    let number: Option<i64> = sqlx::query_scalar(
        "INSERT INTO escalation (case_id, case_version, reason) VALUES (?, ?, ?)
         ON CONFLICT (case_id, case_version) DO NOTHING RETURNING number",
    )
    .bind(case)
    .bind(cmd.version)
    .bind(&cmd.reason)
    .fetch_optional(&mut **tx)
    .await?;
    let (case, version) = (case.to_owned(), cmd.version);
    let Some(number) = number else {
        let number = sqlx::query_scalar(
            "SELECT number FROM escalation WHERE case_id = ? AND case_version = ?",
        )
        .bind(&case)
        .bind(version)
        .fetch_one(&mut **tx)
        .await?;
        return Err(EscalateError::AlreadyEscalated {
            case,
            version,
            number,
        });
    };
    let moved = sqlx::query(
        "UPDATE case_file SET version = version + 1, state = 'escalated'
          WHERE id = ? AND version = ? AND state <> 'closed'",
    )
    .bind(&case)
    .bind(version)
    .execute(&mut **tx)
    .await?;
    if moved.rows_affected() == 0 {
        return Err(EscalateError::NotOpen { case, version });
    }
    sqlx::query("INSERT INTO audit_fact (escalation, officer) VALUES (?, ?)")
        .bind(number)
        .bind(officer)
        .execute(&mut **tx)
        .await?;
    // The sender of the outbox's messages gives the receivers a key that is derived from this one.
    let event = key
        .child("case-escalated")
        .map_err(idem_runtime::Error::from)?;
    let message = json!({ "event": event.as_str(), "case": case, "version": version });
    sqlx::query("INSERT INTO outbox (escalation, message) VALUES (?, ?)")
        .bind(number)
        .bind(message.to_string())
        .execute(&mut **tx)
        .await?;
    Ok(Escalation {
        number,
        case,
        version,
    })
}
