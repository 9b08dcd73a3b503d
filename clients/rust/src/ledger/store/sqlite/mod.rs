//! The ledger in SQLite.

mod sql;

use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Error, Executor as _, Row as _, Sqlite};

use super::dialect::Statements;
use super::{AnswerRow, EntryRow, RequestRow};
use crate::ledger::request::StoredRequest;

impl Statements for Sqlite {
    async fn insert_request(
        conn: &mut SqliteConnection,
        request: &StoredRequest,
    ) -> Result<bool, Error> {
        let done = sqlx::query(sql::INSERT)
            .bind(&request.id)
            .bind(request.key.as_str())
            .bind(&request.method)
            .bind(&request.url)
            .bind(&request.headers)
            .bind(&*request.body)
            .execute(conn)
            .await?;
        Ok(done.rows_affected() == 1)
    }

    async fn open_request(
        conn: &mut SqliteConnection,
        id: &str,
    ) -> Result<Option<RequestRow>, Error> {
        let row = sqlx::query(sql::LOAD).bind(id).fetch_optional(conn).await?;
        row.as_ref().map(request).transpose()
    }

    async fn record_answer(
        conn: &mut SqliteConnection,
        id: &str,
        answer: &AnswerRow,
    ) -> Result<(), Error> {
        sqlx::query(sql::SETTLE)
            .bind(answer.state)
            .bind(answer.status)
            .bind(&answer.headers)
            .bind(&*answer.body)
            .bind(id)
            .execute(conn)
            .await?;
        Ok(())
    }

    async fn look_up_request(
        conn: &mut SqliteConnection,
        id: &str,
    ) -> Result<Option<EntryRow>, Error> {
        let row = sqlx::query(sql::LOOK_UP)
            .bind(id)
            .fetch_optional(conn)
            .await?;
        row.as_ref().map(entry).transpose()
    }

    async fn purge_requests(
        conn: &mut SqliteConnection,
        micros: i64,
        limit: u32,
    ) -> Result<u64, Error> {
        let done = sqlx::query(sql::PURGE)
            .bind(micros)
            .bind(i64::from(limit))
            .execute(conn)
            .await?;
        Ok(done.rows_affected())
    }

    async fn create_ledger(conn: &mut SqliteConnection) -> Result<(), Error> {
        let missing: bool = sqlx::query_scalar(sql::IS_MISSING)
            .fetch_one(&mut *conn)
            .await?;
        if missing {
            conn.execute(sqlx::raw_sql(crate::ledger::schema::sqlite()[0]))
                .await?;
        }
        Ok(())
    }

    async fn verify_ledger(conn: &mut SqliteConnection) -> Result<Vec<String>, Error> {
        sqlx::query_scalar(sql::UNFIT).fetch_all(conn).await
    }
}

fn request(row: &SqliteRow) -> Result<RequestRow, Error> {
    Ok(RequestRow {
        key: row.try_get("idempotency_key")?,
        method: row.try_get("method")?,
        url: row.try_get("url")?,
        headers: row.try_get("headers")?,
        body: row.try_get("body")?,
    })
}

fn entry(row: &SqliteRow) -> Result<EntryRow, Error> {
    Ok(EntryRow {
        state: row.try_get("state")?,
        key: row.try_get("idempotency_key")?,
        status: row.try_get("status")?,
        headers: row.try_get("answer_headers")?,
        body: row.try_get("answer_body")?,
        queue_state: row.try_get("queue_state")?,
        attempts: row.try_get("attempts")?,
        last_error: row.try_get("last_error")?,
    })
}
