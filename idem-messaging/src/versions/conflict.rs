//! A row that is not the one that was read.

use std::fmt::{self, Display};

use crate::inbox::{Answer, AsAnswer};

/// A row was to be changed if it still had the version that was read, and it has not.
///
/// A conditional UPDATE is a line of sqlx; what is missing there is the error for zero rows, which sqlx takes for success:
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
/// # sqlx::raw_sql("CREATE TABLE cases (id INTEGER, level INTEGER, version INTEGER); INSERT INTO cases VALUES (17, 0, 3)")
/// #     .execute(&pool).await?;
/// # let mut tx = pool.begin().await?;
/// use idem_messaging::versions::ConcurrentModification;
///
/// let update = "UPDATE cases SET level = level + 1, version = version + 1 WHERE id = ?1 AND version = ?2";
/// let done = sqlx::query(update).bind(17).bind(3).execute(&mut *tx).await?;
/// ConcurrentModification::check(done.rows_affected(), "case 17", 3)?;
///
/// let again = sqlx::query(update).bind(17).bind(3).execute(&mut *tx).await?;
/// assert!(ConcurrentModification::check(again.rows_affected(), "case 17", 3).is_err());
/// # Ok(()) }
/// # #[cfg(not(feature = "sqlite"))] fn main() {}
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConcurrentModification {
    row: String,
    expected: i64,
    rows_affected: u64,
}

impl ConcurrentModification {
    /// Checks that an UPDATE with the version in its WHERE changed one row. `row` names the row in the error's text, which
    /// goes to logs.
    ///
    /// # Errors
    /// [`ConcurrentModification`] unless `rows_affected` is 1.
    pub fn check(rows_affected: u64, row: impl Display, expected: i64) -> Result<(), Self> {
        if rows_affected == 1 {
            return Ok(());
        }
        Err(Self {
            row: row.to_string(),
            expected,
            rows_affected,
        })
    }

    /// Returns the version that was expected.
    pub fn expected(&self) -> i64 {
        self.expected
    }

    /// Returns how many rows the UPDATE changed.
    pub fn rows_affected(&self) -> u64 {
        self.rows_affected
    }
}

impl Display for ConcurrentModification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, expected, .. } = self;
        match self.rows_affected {
            0 => write!(
                f,
                "{row} is not at version {expected}: another writer has changed or removed it; this statement wrote \
                 nothing; return the error, read the row again and decide anew"
            ),
            rows => write!(
                f,
                "the UPDATE of {row} at version {expected} changed {rows} rows: its WHERE names more than one; return the \
                 error, so that they are rolled back, and add the key to the WHERE"
            ),
        }
    }
}

impl std::error::Error for ConcurrentModification {}

impl AsAnswer for ConcurrentModification {
    /// Conflict, which uses up no attempt: the next delivery reads the row anew. Failed if the UPDATE changed several rows.
    fn as_answer(&self) -> Answer {
        if self.rows_affected == 0 {
            Answer::Conflict {
                detail: self.to_string(),
            }
        } else {
            Answer::failed(self)
        }
    }
}
