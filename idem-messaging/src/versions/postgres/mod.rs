//! Versions on PostgreSQL.

mod sql;

use sqlx::postgres::{PgConnection, PgTransaction};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Postgres};

use super::entry::VersionEntry;
use super::store::{VersionDatabase, VersionTransaction};

impl VersionDatabase for Postgres {
    const MIGRATION: &'static str =
        include_str!("../../../migrations/postgres/0002_idem_version.sql");

    async fn create(conn: &mut PgConnection, migration: String) -> Result<(), sqlx::Error> {
        let mut tx = conn.begin().await?;
        // Two that create at once would meet in the catalogue.
        tx.execute(sql::CREATE_LOCK).await?;
        tx.execute(sqlx::raw_sql(AssertSqlSafe(migration))).await?;
        tx.commit().await
    }

    async fn verify(conn: &mut PgConnection) -> Result<Vec<String>, sqlx::Error> {
        sqlx::query_scalar(sql::UNFIT).fetch_all(conn).await
    }
}

impl VersionTransaction for PgTransaction<'_> {
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
