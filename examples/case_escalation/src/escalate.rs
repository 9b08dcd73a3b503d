//! The escalation of a case: the case, the escalation, the audit fact, the event and the record of the key in one
//! transaction.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use idem_messaging::outbox::{EventError, Origin, Outbox, OutboxError};
use idem_runtime::handler::DescribeOperation as _;
use idem_runtime::{Failure, IdempotencyKey, StoredFailure, idempotent};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::database::Tx;
use crate::fact::CaseEscalated;
use crate::problem::{internal, of_database, refusal};
use crate::rights::{self, Rights};

/// An officer's reason for it.
#[derive(Debug, Serialize, Deserialize, ToSchema)] // compared on every retry
pub struct Reason {
    /// The version of the case that the officer has read.
    #[schema(minimum = 1, maximum = 1_000_000, example = 1)]
    pub version: i64,
    /// The reason why it needs a supervisor.
    #[serde(deserialize_with = "text")]
    #[schema(example = "third breach this year")]
    pub reason: String,
    /// The supervisor's address.
    #[serde(deserialize_with = "text")]
    #[schema(example = "ada@example.org")]
    pub supervisor: String,
}

/// Reads a text that every database can store.
fn text<'de, D: Deserializer<'de>>(json: D) -> Result<String, D::Error> {
    let text = String::deserialize(json)?;
    if text.contains('\0') {
        return Err(D::Error::custom("a text has the character U+0000"));
    }
    Ok(text)
}

/// An escalation that has been made.
#[derive(Debug, Serialize, Deserialize, ToSchema)] // recorded, and replayed
pub struct Escalation {
    /// The case.
    pub case: String,
    /// The version of the case that was escalated.
    pub version: i64,
}

/// The reasons why there is none.
#[derive(Debug, thiserror::Error, Failure)]
pub enum EscalateError {
    /// Somebody else was first. This stays true: it is recorded, and a retry gets it again.
    #[error("version {version} of case {case} was escalated before")]
    #[failure(permanent)]
    AlreadyEscalated {
        /// The case.
        case: String,
        /// Its version.
        version: i64,
    },
    /// This may change, and the attempt left nothing behind: a retry looks again.
    #[error("there is no open case {case} at version {version}")]
    NotOpen {
        /// The case.
        case: String,
        /// The version that the officer has read.
        version: i64,
    },
    /// The officer may not, or no longer. It is not recorded: the right may come back.
    #[error("officer {officer} may not escalate cases")]
    NotAllowed {
        /// The officer.
        officer: String,
    },
    /// The event cannot be told, for example because it is too long.
    #[error(transparent)]
    Event(#[from] EventError),
    /// An error of the outbox.
    #[error(transparent)]
    Outbox(#[from] OutboxError),
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
            Self::NotAllowed { .. } => refusal(StatusCode::FORBIDDEN, "not-allowed", &detail),
            Self::Recorded(failure) => conflict(&failure.class),
            Self::Event(_) => refusal(StatusCode::BAD_REQUEST, "unreadable", &detail),
            Self::Outbox(OutboxError::Database(error)) | Self::Database(error) => {
                of_database(&error)
            }
            Self::Outbox(_) => internal(),
            Self::Idempotency(error) => error.into_response(),
        }
    }
}

/// Asked before a replay is answered, of an escalation and of a recorded refusal: the officer may have lost his right
/// since the first run, which checked it in its own transaction.
async fn may_see(
    _: &IdempotencyKey,
    _: &Outbox,
    rights: &Rights,
    _: &str,
    officer: &str,
    _: &Reason,
    _: Result<&Escalation, &EscalateError>,
) -> Result<(), EscalateError> {
    if rights.has(officer).await? {
        return Ok(());
    }
    let officer = officer.to_owned();
    Err(EscalateError::NotAllowed { officer })
}

/// Escalates a case: one escalation for each of its versions.
///
/// # Errors
/// As the error's variants say.
#[idempotent(
    namespace = "cases",
    operation = "escalate",
    retention = "7d",
    failures = "record",
    skip(outbox, rights),
    authorize = may_see,
    marker = Escalate
)]
pub async fn escalate(
    tx: &mut Tx<'_>,
    key: &IdempotencyKey,
    outbox: &Outbox,
    rights: &Rights,
    case: &str,
    officer: &str,
    cmd: &Reason,
) -> Result<Escalation, EscalateError> {
    let (case, version) = (case.to_owned(), cmd.version);
    if !rights::has(&mut **tx, officer).await? {
        let officer = officer.to_owned();
        return Err(EscalateError::NotAllowed { officer });
    }
    if !case.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(EscalateError::NotOpen { case, version });
    }
    // The constraint decides, and not a look-up before it: two officers could look at the same time.
    let inserted = sqlx::query(
        "INSERT INTO escalation (case_id, version, reason) VALUES ($1, $2, $3)
         ON CONFLICT (case_id, version) DO NOTHING",
    )
    .bind(&case)
    .bind(version)
    .bind(&cmd.reason)
    .execute(&mut **tx)
    .await?;
    if inserted.rows_affected() == 0 {
        return Err(EscalateError::AlreadyEscalated { case, version });
    }
    let moved = sqlx::query(
        "UPDATE case_file SET version = version + 1, state = 'escalated'
          WHERE id = $1 AND version = $2 AND state <> 'closed'",
    )
    .bind(&case)
    .bind(version)
    .execute(&mut **tx)
    .await?;
    if moved.rows_affected() == 0 {
        return Err(EscalateError::NotOpen { case, version });
    }
    sqlx::query("INSERT INTO audit_fact (case_id, version, officer) VALUES ($1, $2, $3)")
        .bind(&case)
        .bind(version)
        .bind(officer)
        .execute(&mut **tx)
        .await?;
    // The event leaves if and only if all of this is committed.
    let fact = CaseEscalated {
        case: case.clone(),
        version,
        supervisor: cmd.supervisor.clone(),
        reason: cmd.reason.clone(),
    };
    let origin = Origin::of(Escalate::OPERATION, key)?;
    outbox.append(tx, fact.event(&origin)?).await?;
    Ok(Escalation { case, version })
}
