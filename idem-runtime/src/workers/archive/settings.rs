//! What an archive keeps, and how long.

use std::time::Duration;

use crate::values::error::{Field, Invalid, Reason};
use crate::values::key::text;
use crate::values::policy::MAX_ARCHIVE_RETENTION;

/// The name of the archive's table.
pub const ARCHIVE_TABLE: &str = "idem_archive";

/// The longest name of who archives, in characters.
const ACTOR_MAX: usize = 255;

/// What the archive keeps of the records that a purge deletes, and how long.
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # fn example(pool: sqlx::SqlitePool) -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
///
/// use idem_runtime::PurgeWorker;
/// use idem_runtime::purge::Archive;
///
/// let ten_years = Duration::from_secs(3_652 * 86_400);
/// let worker = PurgeWorker::new(pool).archive(Archive::new().retention(ten_years)?);
/// # let _ = worker; Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    pub(crate) actor: String,
    pub(crate) payloads: bool,
    pub(crate) retention: Option<Duration>,
}

impl Default for Archive {
    fn default() -> Self {
        Self::new()
    }
}

impl Archive {
    /// Creates the archive of a worker: `idem_archive`, in the schema of the records, without payloads, kept for ever.
    pub fn new() -> Self {
        Self {
            actor: "PurgeWorker".to_owned(),
            payloads: false,
            retention: None,
        }
    }

    /// Sets the name that the column `actor` says, `PurgeWorker` by default: at most 255 characters.
    ///
    /// # Errors
    /// [`Invalid`] of [`Field::Actor`] if it is blank, too long, or has a control character.
    pub fn actor(mut self, actor: impl Into<String>) -> Result<Self, Invalid> {
        let actor = actor.into();
        text::check(Field::Actor, &actor, ACTOR_MAX)?;
        self.actor = actor;
        Ok(self)
    }

    /// Keeps request, result and failure too, as they are stored.
    #[must_use]
    pub fn payloads(mut self) -> Self {
        self.payloads = true;
        self
    }

    /// Deletes rows of the archive this long after they were written, after each sweep. By default they are kept. Rows of a
    /// scope under a legal hold stay.
    ///
    /// # Errors
    /// [`Invalid`] of [`Field::Retention`] if the time is shorter than 1 microsecond or longer than 36,500 days.
    pub fn retention(mut self, retention: Duration) -> Result<Self, Invalid> {
        check_retention(retention)?;
        self.retention = Some(retention);
        Ok(self)
    }
}

/// Checks how long rows of the archive are kept.
pub(crate) fn check_retention(retention: Duration) -> Result<(), Invalid> {
    if retention.as_micros() == 0 {
        return Err(Invalid::new(Field::Retention, Reason::Empty));
    }
    if retention > MAX_ARCHIVE_RETENTION {
        let (limit, found) = (MAX_ARCHIVE_RETENTION, retention);
        let reason = Reason::TooLongTime { limit, found };
        return Err(Invalid::new(Field::Retention, reason));
    }
    Ok(())
}

/// Returns the archive that belongs to a table of records: `idem_archive`, in its schema.
///
/// ```
/// assert_eq!(idem_runtime::purge::archive_table_of("app.idem_record"), "app.idem_archive");
/// ```
pub fn archive_table_of(table: &str) -> String {
    match table.split_once('.') {
        Some((schema, _)) => format!("{schema}.{ARCHIVE_TABLE}"),
        None => ARCHIVE_TABLE.to_owned(),
    }
}
