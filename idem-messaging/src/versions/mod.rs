//! Version guards: an event is applied if it is the next one, and a row is changed if it is still the one that was read.

mod advance;
mod conflict;
mod entry;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
pub mod schema;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;

pub use self::advance::{Advance, VersionGap};
pub use self::conflict::ConcurrentModification;
pub use self::entry::{ENTITY_MAX, PROJECTION_MAX, VersionError};
pub use self::store::{VersionDatabase, VersionTransaction};

use std::fmt::Display;

use self::entry::VersionEntry;

/// How far each projection has come, for each entity. The rows are in the table `idem_version` ([`schema`]).
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use idem_messaging::versions::{Advance, Versions, schema};
///
/// # let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
/// sqlx::raw_sql(schema::sqlite()).execute(&pool).await?; // a migration of yours
/// let versions = Versions::new();
///
/// let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
/// assert_eq!(versions.advance(&mut tx, "case_overview", 17, 1).await?, Advance::Applied);
/// assert_eq!(versions.advance(&mut tx, "case_overview", 17, 1).await?, Advance::Stale { current: 1 });
/// let gap = versions.advance(&mut tx, "case_overview", 17, 3).await?;
/// assert_eq!(gap, Advance::Gap { expected: 2, current: 1 });
/// # Ok(()) }
/// # #[cfg(not(feature = "sqlite"))] fn main() {}
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    first: i64,
}

impl Versions {
    /// Counts the versions of an entity from 1.
    pub const fn new() -> Self {
        Self { first: 1 }
    }

    /// Counts the versions of an entity from `first`, which is not negative.
    ///
    /// # Panics
    /// If `first` is negative; at compile time, in a constant.
    #[must_use]
    pub const fn counted_from(first: i64) -> Self {
        assert!(first >= 0, "the first version of an entity is not negative");
        Self { first }
    }

    /// Advances the projection of an entity to `version`, if it is the next one.
    ///
    /// It is one statement, and the row's lock orders concurrent transactions: of any number of transactions with one version, one is
    /// answered [`Applied`](Advance::Applied), and the others wait for its COMMIT and are answered
    /// [`Stale`](Advance::Stale), or take its place if it rolls back.
    ///
    /// The version and what the caller writes are in one transaction. After [`Gap`](Advance::Gap) and
    /// [`Stale`](Advance::Stale) no version has changed.
    ///
    /// A first version that another transaction commits during the statement may be answered
    /// [`Gap`](Advance::Gap) still, and never [`Applied`](Advance::Applied).
    ///
    /// On MySQL and MariaDB the statement sets what `LAST_INSERT_ID()` returns to the session.
    ///
    /// # Errors
    /// - [`VersionError::Invalid`] if `projection` is blank, longer than [`PROJECTION_MAX`] characters or has a control
    ///   character; if the text of `entity` is, with [`ENTITY_MAX`]. Nothing was written.
    /// - [`VersionError::BelowFirst`] if `version` is less than the first one. Nothing was written.
    /// - [`VersionError::Database`] for an error of the statement: under REPEATABLE READ also that another transaction
    ///   advanced the entity since this one began (SQLSTATE 40001; 1020 on MariaDB 11).
    pub async fn advance<Tx: VersionTransaction>(
        &self,
        tx: &mut Tx,
        projection: &str,
        entity: impl Display + Send,
        version: i64,
    ) -> Result<Advance, VersionError> {
        let entry = VersionEntry::new(projection, &entity, version, self.first)?;
        let found = if version == self.first {
            tx.insert_or_advance(&entry).await?
        } else {
            tx.advance(&entry).await?
        };
        let advance = Advance::from_found(found.unwrap_or(self.first - 1), version);
        count(advance, projection);
        Ok(advance)
    }

    /// Advances the projection of an entity to `version`, if it is newer, whatever is missing in between. It is for events that
    /// carry the whole state of the entity, so that the newest one is enough; where each event is a step, use
    /// [`advance`](Self::advance).
    ///
    /// The answer is [`Applied`](Advance::Applied) or [`Stale`](Advance::Stale), and never [`Gap`](Advance::Gap). Concurrent
    /// transactions are ordered as in [`advance`](Self::advance), by one statement.
    ///
    /// ```
    /// # #[cfg(feature = "sqlite")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use idem_messaging::versions::{Advance, Versions, schema};
    /// # let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
    /// # sqlx::raw_sql(schema::sqlite()).execute(&pool).await?;
    /// let versions = Versions::new();
    /// let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
    /// assert_eq!(versions.advance_to(&mut tx, "address", 17, 5).await?, Advance::Applied);
    /// assert_eq!(versions.advance_to(&mut tx, "address", 17, 4).await?, Advance::Stale { current: 5 });
    /// # Ok(()) }
    /// # #[cfg(not(feature = "sqlite"))] fn main() {}
    /// ```
    ///
    /// # Errors
    /// Those of [`advance`](Self::advance).
    pub async fn advance_to<Tx: VersionTransaction>(
        &self,
        tx: &mut Tx,
        projection: &str,
        entity: impl Display + Send,
        version: i64,
    ) -> Result<Advance, VersionError> {
        let entry = VersionEntry::new(projection, &entity, version, self.first)?;
        let found = tx.insert_or_raise(&entry).await?;
        let advance = Advance::to_newer(found.unwrap_or(self.first - 1), version);
        count(advance, projection);
        Ok(advance)
    }

    /// Sets the version of an entity whose projection was built anew, from a snapshot for example, and returns nothing of
    /// the one before. It is how a gap is closed whose event will never come.
    ///
    /// # Errors
    /// Those of [`advance`](Self::advance).
    pub async fn reset<Tx: VersionTransaction>(
        &self,
        tx: &mut Tx,
        projection: &str,
        entity: impl Display + Send,
        version: i64,
    ) -> Result<(), VersionError> {
        let entry = VersionEntry::new(projection, &entity, version, self.first)?;
        Ok(tx.reset(&entry).await?)
    }
}

/// Counts an event that the projection had already.
#[cfg(feature = "metrics")]
fn count(advance: Advance, projection: &str) {
    if let Advance::Stale { .. } = advance {
        crate::metrics::stale(projection);
    }
}

#[cfg(not(feature = "metrics"))]
fn count(_: Advance, _: &str) {}

impl Default for Versions {
    fn default() -> Self {
        Self::new()
    }
}
