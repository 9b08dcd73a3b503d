//! What is looked for in the table, checked.

use std::borrow::Cow;
use std::fmt::Display;

use idem_runtime::error::{Field, Invalid, Reason};

use crate::inbox::{Answer, AsAnswer};

/// The longest name of a projection, in characters.
pub const PROJECTION_MAX: usize = 64;

/// The longest name of an entity, in characters.
pub const ENTITY_MAX: usize = 255;

/// Why a version was not offered, or not answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VersionError {
    /// The name of the projection or of the entity is not acceptable. Nothing was written.
    #[error(transparent)]
    Invalid(#[from] Invalid),

    /// The version is less than the first one. Nothing was written.
    #[error(
        "version {version} is less than {first}, with which this projection counts; nothing was written; `Versions::counted_from` sets another first version"
    )]
    BelowFirst {
        /// The version offered.
        version: i64,
        /// The first one.
        first: i64,
    },

    /// The table cannot hold what the guard promises. Nothing was written.
    #[error("the table `idem_version` is unfit for version guards: {}; nothing was written; run the migration", findings.join("; "))]
    Schema {
        /// What is wrong with it, in words.
        findings: Vec<String>,
    },

    /// The statement failed. Return the error, so that the transaction is rolled back.
    #[error(
        "the version could not be read or written ({0}); return this error, so that the transaction is rolled back"
    )]
    Database(#[from] sqlx::Error),
}

impl AsAnswer for VersionError {
    /// That of sqlx's error, unavailable for an unfit table, or refused.
    fn as_answer(&self) -> Answer {
        match self {
            Self::Invalid(_) | Self::BelowFirst { .. } => Answer::Refused {
                detail: self.to_string(),
            },
            Self::Schema { .. } => Answer::unavailable(self),
            Self::Database(error) => error.as_answer(),
        }
    }
}

/// A projection, an entity and a version, checked.
#[derive(Debug)]
pub struct VersionEntry {
    pub(super) projection: String,
    pub(super) entity: String,
    pub(super) version: i64,
    /// The version of an entity that has none; MySQL's statements need none.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(super) before_first: i64,
}

impl VersionEntry {
    pub(super) fn new(
        projection: &str,
        entity: &dyn Display,
        version: i64,
        first: i64,
    ) -> Result<Self, VersionError> {
        let entity = entity.to_string();
        check("projection", projection, PROJECTION_MAX)?;
        check("entity", &entity, ENTITY_MAX)?;
        if version < first {
            return Err(VersionError::BelowFirst { version, first });
        }
        Ok(Self {
            projection: projection.to_owned(),
            entity,
            version,
            #[cfg(any(feature = "postgres", feature = "sqlite"))]
            before_first: first - 1,
        })
    }
}

fn check(field: &'static str, text: &str, limit: usize) -> Result<(), Invalid> {
    let control = text.chars().enumerate().find(|(_, c)| c.is_control());
    let length = text.chars().count();
    let reason = if text.trim().is_empty() {
        Reason::Empty
    } else if let Some((index, found)) = control {
        Reason::Control { found, index }
    } else if length > limit {
        Reason::TooLong { limit, length }
    } else {
        return Ok(());
    };
    Err(Invalid::new(Field::Parameter(Cow::Borrowed(field)), reason))
}
