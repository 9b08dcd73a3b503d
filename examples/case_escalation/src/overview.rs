//! The overview of cases: a projection of the events, which applies an event only if it is the next one.

use idem_messaging::inbox::{Answer, AsAnswer, MessageError, Received};
use idem_messaging::versions::{VersionError, VersionGap, Versions};
use idem_runtime::{IdempotencyKey, idempotent};

use crate::database::Tx;
use crate::fact::CaseEscalated;

/// The reasons why an event was not applied.
#[derive(Debug, thiserror::Error)]
pub enum OverviewError {
    /// The message is not what was agreed on.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// An earlier event of the case has not come. It is tried again.
    #[error(transparent)]
    Gap(#[from] VersionGap),
    /// An error of the version guard.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// An error of the database.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// An error of the library.
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
}

impl AsAnswer for OverviewError {
    fn as_answer(&self) -> Answer {
        match self {
            Self::Message(error) => error.as_answer(),
            Self::Gap(error) => error.as_answer(),
            Self::Version(error) => error.as_answer(),
            Self::Database(error) => error.as_answer(),
            Self::Idempotency(error) => error.as_answer(),
        }
    }
}

/// Applies an event, and returns whether it was news.
///
/// A message delivered twice has one key, and is answered from its record. A fact told under two ids has two keys, and
/// meets the version guard: the second is stale.
///
/// # Errors
/// As the error's variants say.
#[idempotent(namespace = "overview", retention = "7d", marker = Project)]
pub async fn project(
    tx: &mut Tx<'_>,
    key: &IdempotencyKey,
    fact: &Received<CaseEscalated>,
) -> Result<bool, OverviewError> {
    let (case, version) = (&fact.case, fact.version);
    let advance = Versions::new()
        .advance(tx, "overview", case, version)
        .await?;
    if !advance.or_gap(version)? {
        return Ok(false);
    }
    sqlx::query(
        "INSERT INTO overview (case_id, version, escalations) VALUES ($1, $2, 1)
         ON CONFLICT (case_id) DO UPDATE
         SET version = excluded.version, escalations = overview.escalations + 1",
    )
    .bind(case)
    .bind(version)
    .execute(&mut **tx)
    .await?;
    Ok(true)
}
