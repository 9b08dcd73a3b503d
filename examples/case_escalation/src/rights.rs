//! Who may escalate. A right may be lost between a command and its retry.

use sqlx::Executor;

use crate::database::{Db, Pool};

/// The rights of the officers. Whoever has not lost his has it.
#[derive(Debug, Clone)]
pub struct Rights {
    pool: Pool,
}

impl Rights {
    /// The rights in this database.
    pub fn of(pool: Pool) -> Self {
        Self { pool }
    }

    /// Returns whether an officer may escalate now.
    ///
    /// # Errors
    /// The database's.
    pub async fn has(&self, officer: &str) -> Result<bool, sqlx::Error> {
        has(&self.pool, officer).await
    }

    /// Takes the right from an officer.
    ///
    /// # Errors
    /// The database's.
    pub async fn revoke(&self, officer: &str) -> Result<(), sqlx::Error> {
        self.run(
            "INSERT INTO right_lost (officer) VALUES ($1) ON CONFLICT DO NOTHING",
            officer,
        )
        .await
    }

    /// Gives it back.
    ///
    /// # Errors
    /// The database's.
    pub async fn restore(&self, officer: &str) -> Result<(), sqlx::Error> {
        self.run("DELETE FROM right_lost WHERE officer = $1", officer)
            .await
    }

    async fn run(&self, sql: &'static str, officer: &str) -> Result<(), sqlx::Error> {
        sqlx::query(sql)
            .bind(officer)
            .execute(&self.pool)
            .await
            .map(|_| ())
    }
}

/// Returns whether an officer may escalate, as this connection or transaction sees it.
///
/// # Errors
/// The database's.
pub async fn has<'c>(
    database: impl Executor<'c, Database = Db>,
    officer: &str,
) -> Result<bool, sqlx::Error> {
    let lost: i64 = sqlx::query_scalar("SELECT count(*) FROM right_lost WHERE officer = $1")
        .bind(officer)
        .fetch_one(database)
        .await?;
    Ok(lost == 0)
}
