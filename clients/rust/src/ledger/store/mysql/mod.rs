//! The ledger in MySQL and MariaDB.

mod sql;

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{Error, Executor as _, MySql, Row as _};

use super::dialect::Statements;
use super::{AnswerRow, EntryRow, RequestRow};
use crate::ledger::request::StoredRequest;

impl Statements for MySql {
    async fn insert_request(
        conn: &mut MySqlConnection,
        request: &StoredRequest,
    ) -> Result<bool, Error> {
        let done = sqlx::query(sql::INSERT)
            .bind(request.id.as_bytes())
            .bind(request.key.as_str().as_bytes())
            .bind(request.method.as_bytes())
            .bind(request.url.as_bytes())
            .bind(request.headers.as_bytes())
            .bind(&*request.body)
            .execute(conn)
            .await;
        match done {
            Ok(_) => Ok(true),
            // The statement is undone, and the transaction goes on.
            Err(Error::Database(error)) if error.is_unique_violation() => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn open_request(
        conn: &mut MySqlConnection,
        id: &str,
    ) -> Result<Option<RequestRow>, Error> {
        let row = sqlx::query(sql::LOAD)
            .bind(id.as_bytes())
            .fetch_optional(conn)
            .await?;
        row.as_ref().map(request).transpose()
    }

    async fn record_answer(
        conn: &mut MySqlConnection,
        id: &str,
        answer: &AnswerRow,
    ) -> Result<(), Error> {
        sqlx::query(sql::SETTLE)
            .bind(answer.state)
            .bind(answer.status)
            .bind(answer.headers.as_bytes())
            .bind(&*answer.body)
            .bind(id.as_bytes())
            .execute(conn)
            .await?;
        Ok(())
    }

    async fn look_up_request(
        conn: &mut MySqlConnection,
        id: &str,
    ) -> Result<Option<EntryRow>, Error> {
        let row = sqlx::query(sql::LOOK_UP)
            .bind(id.as_bytes())
            .fetch_optional(conn)
            .await?;
        row.as_ref().map(entry).transpose()
    }

    async fn purge_requests(
        conn: &mut MySqlConnection,
        micros: i64,
        limit: u32,
    ) -> Result<u64, Error> {
        let done = sqlx::query(sql::PURGE)
            .bind(micros)
            .bind(limit)
            .execute(conn)
            .await?;
        Ok(done.rows_affected())
    }

    async fn create_ledger(conn: &mut MySqlConnection) -> Result<(), Error> {
        let missing: i64 = sqlx::query_scalar(sql::IS_MISSING)
            .fetch_one(&mut *conn)
            .await?;
        if missing == 1 {
            conn.execute(sqlx::raw_sql(crate::ledger::schema::mysql()[0]))
                .await?;
        }
        Ok(())
    }

    async fn verify_ledger(conn: &mut MySqlConnection) -> Result<Vec<String>, Error> {
        sqlx::query_scalar(sql::UNFIT).fetch_all(conn).await
    }
}

fn request(row: &MySqlRow) -> Result<RequestRow, Error> {
    Ok(RequestRow {
        key: text(row, "idempotency_key")?,
        method: text(row, "method")?,
        url: text(row, "url")?,
        headers: text(row, "headers")?,
        body: row.try_get("body")?,
    })
}

fn entry(row: &MySqlRow) -> Result<EntryRow, Error> {
    Ok(EntryRow {
        state: row.try_get("state")?,
        key: text(row, "idempotency_key")?,
        status: row.try_get("status")?,
        headers: optional(row, "answer_headers")?,
        body: row.try_get("answer_body")?,
        queue_state: row.try_get("queue_state")?,
        attempts: row.try_get("attempts")?,
        last_error: optional(row, "last_error")?,
    })
}

fn text(row: &MySqlRow, column: &str) -> Result<String, Error> {
    Ok(optional(row, column)?.unwrap_or_default())
}

/// A text of bytes, which the library has written as UTF-8.
fn optional(row: &MySqlRow, column: &str) -> Result<Option<String>, Error> {
    let bytes: Option<Vec<u8>> = row.try_get(column)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}
