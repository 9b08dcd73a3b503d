//! The ledger in PostgreSQL.

mod sql;

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{Error, Executor as _, Postgres, Row as _};

use super::dialect::Statements;
use super::{AnswerRow, EntryRow, RequestRow};
use crate::ledger::request::StoredRequest;

impl Statements for Postgres {
    async fn insert_request(
        conn: &mut PgConnection,
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

    async fn open_request(conn: &mut PgConnection, id: &str) -> Result<Option<RequestRow>, Error> {
        let row = sqlx::query(sql::LOAD).bind(id).fetch_optional(conn).await?;
        row.as_ref().map(request).transpose()
    }

    async fn record_answer(
        conn: &mut PgConnection,
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

    async fn look_up_request(conn: &mut PgConnection, id: &str) -> Result<Option<EntryRow>, Error> {
        let row = sqlx::query(sql::LOOK_UP)
            .bind(id)
            .fetch_optional(conn)
            .await?;
        row.as_ref().map(entry).transpose()
    }

    async fn purge_requests(
        conn: &mut PgConnection,
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

    async fn create_ledger(conn: &mut PgConnection) -> Result<(), Error> {
        let missing: bool = sqlx::query_scalar(sql::IS_MISSING)
            .fetch_one(&mut *conn)
            .await?;
        if missing {
            conn.execute(sqlx::raw_sql(crate::ledger::schema::postgres()[0]))
                .await?;
        }
        Ok(())
    }

    async fn verify_ledger(conn: &mut PgConnection) -> Result<Vec<String>, Error> {
        sqlx::query_scalar(sql::UNFIT).fetch_all(conn).await
    }
}

fn request(row: &PgRow) -> Result<RequestRow, Error> {
    Ok(RequestRow {
        key: row.try_get("idempotency_key")?,
        method: row.try_get("method")?,
        url: row.try_get("url")?,
        headers: row.try_get("headers")?,
        body: row.try_get("body")?,
    })
}

fn entry(row: &PgRow) -> Result<EntryRow, Error> {
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
