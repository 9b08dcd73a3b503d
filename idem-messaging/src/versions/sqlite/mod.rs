//! Versions on SQLite.

mod sql;

use sqlx::sqlite::{SqliteConnection, SqliteTransaction};
use sqlx::{AssertSqlSafe, Executor as _, Sqlite};

use super::entry::VersionEntry;
use super::store::{VersionDatabase, VersionTransaction};

impl VersionDatabase for Sqlite {
    const MIGRATION: &'static str =
        include_str!("../../../migrations/sqlite/0002_idem_version.sql");

    async fn create(conn: &mut SqliteConnection, migration: String) -> Result<(), sqlx::Error> {
        let created = sqlx::raw_sql(AssertSqlSafe(migration));
        conn.execute(created).await.map(drop)
    }

    async fn verify(conn: &mut SqliteConnection) -> Result<Vec<String>, sqlx::Error> {
        sqlx::query_scalar(sql::UNFIT).fetch_all(conn).await
    }
}

impl VersionTransaction for SqliteTransaction<'_> {
    async fn insert_or_advance(
        &mut self,
        entry: &VersionEntry,
    ) -> Result<Option<i64>, sqlx::Error> {
        sqlx::query_scalar(sql::INSERT_OR_ADVANCE)
            .bind(&entry.projection)
            .bind(&entry.entity)
            .bind(entry.version)
            .bind(entry.before_first)
            .fetch_optional(&mut **self)
            .await
    }

    async fn advance(&mut self, entry: &VersionEntry) -> Result<Option<i64>, sqlx::Error> {
        sqlx::query_scalar(sql::ADVANCE)
            .bind(&entry.projection)
            .bind(&entry.entity)
            .bind(entry.version)
            .fetch_optional(&mut **self)
            .await
    }

    async fn insert_or_raise(&mut self, entry: &VersionEntry) -> Result<Option<i64>, sqlx::Error> {
        sqlx::query_scalar(sql::INSERT_OR_RAISE)
            .bind(&entry.projection)
            .bind(&entry.entity)
            .bind(entry.version)
            .bind(entry.before_first)
            .fetch_optional(&mut **self)
            .await
    }

    async fn reset(&mut self, entry: &VersionEntry) -> Result<(), sqlx::Error> {
        sqlx::query(sql::RESET)
            .bind(&entry.projection)
            .bind(&entry.entity)
            .bind(entry.version)
            .bind(entry.before_first)
            .execute(&mut **self)
            .await?;
        Ok(())
    }
}
