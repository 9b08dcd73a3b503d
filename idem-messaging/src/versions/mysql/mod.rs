//! Versions on MySQL and MariaDB.

mod sql;

use sqlx::mysql::{MySqlConnection, MySqlQueryResult, MySqlTransaction};
use sqlx::{AssertSqlSafe, Executor as _, MySql};

use super::entry::VersionEntry;
use super::store::{VersionDatabase, VersionTransaction};

impl VersionDatabase for MySql {
    const MIGRATION: &'static str = include_str!("../../../migrations/mysql/0002_idem_version.sql");

    async fn create(conn: &mut MySqlConnection, migration: String) -> Result<(), sqlx::Error> {
        let created = sqlx::raw_sql(AssertSqlSafe(migration));
        conn.execute(created).await.map(drop)
    }

    async fn verify(conn: &mut MySqlConnection) -> Result<Vec<String>, sqlx::Error> {
        sqlx::query_scalar(sql::UNFIT).fetch_all(conn).await
    }
}

impl VersionTransaction for MySqlTransaction<'_> {
    async fn insert_or_advance(
        &mut self,
        entry: &VersionEntry,
    ) -> Result<Option<i64>, sqlx::Error> {
        sqlx::query(sql::INSERT_OR_ADVANCE)
            .bind(entry.projection.as_bytes())
            .bind(entry.entity.as_bytes())
            .bind(entry.version)
            .bind(entry.version)
            .bind(entry.version)
            .execute(&mut **self)
            .await
            .map(|done| found(&done))
    }

    async fn advance(&mut self, entry: &VersionEntry) -> Result<Option<i64>, sqlx::Error> {
        sqlx::query(sql::ADVANCE)
            .bind(entry.version)
            .bind(entry.version)
            .bind(entry.projection.as_bytes())
            .bind(entry.entity.as_bytes())
            .execute(&mut **self)
            .await
            .map(|done| found(&done))
    }

    async fn insert_or_raise(&mut self, entry: &VersionEntry) -> Result<Option<i64>, sqlx::Error> {
        sqlx::query(sql::INSERT_OR_RAISE)
            .bind(entry.projection.as_bytes())
            .bind(entry.entity.as_bytes())
            .bind(entry.version)
            .bind(entry.version)
            .bind(entry.version)
            .execute(&mut **self)
            .await
            .map(|done| found(&done))
    }

    async fn reset(&mut self, entry: &VersionEntry) -> Result<(), sqlx::Error> {
        sqlx::query(sql::RESET)
            .bind(entry.projection.as_bytes())
            .bind(entry.entity.as_bytes())
            .bind(entry.version)
            .bind(entry.version)
            .execute(&mut **self)
            .await?;
        Ok(())
    }
}

/// Reads the version that the statement met; `None` if it met no row.
fn found(done: &MySqlQueryResult) -> Option<i64> {
    let one_more = done.last_insert_id();
    i64::try_from(one_more.checked_sub(1)?).ok()
}
