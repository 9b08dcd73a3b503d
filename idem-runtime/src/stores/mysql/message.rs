//! Statements sent as text, several in one message, and their rows.

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use super::super::session::Session as _;
use super::{error, sql};
use crate::values::error::Error;
use crate::values::record::Timestamp;

/// Sends statements in one message, and takes all their rows.
pub(super) async fn rows(
    conn: &mut MySqlConnection,
    text: String,
) -> Result<Vec<MySqlRow>, sqlx::Error> {
    fits(conn, &text).await?;
    sqlx::raw_sql(AssertSqlSafe(text)).fetch_all(conn).await
}

/// Sends a statement that stands by itself, unless a transaction is open: where autocommit is off, it
/// would leave one open.
pub(super) async fn alone(
    conn: &mut MySqlConnection,
    text: String,
) -> Result<Vec<MySqlRow>, sqlx::Error> {
    if !conn.has_transaction() {
        match rows(conn, sql::alone(&text)).await {
            Err(error) if error::is_in_transaction(&error) => {}
            Err(error) => {
                conn.execute(sql::END).await?;
                return Err(error);
            }
            done => return done,
        }
    }
    rows(conn, text).await
}

/// The server's clock.
pub(super) async fn clock(conn: &mut MySqlConnection) -> Result<Timestamp, Error> {
    let shown = rows(conn, sql::clock()).await.map_err(error::map_error)?;
    super::super::row::timestamp(&last(shown)?, "now")
}

/// What every server takes unless it is set to less: its `net_buffer_length`, in bytes.
const TAKEN: usize = 16 * 1024;

/// Whether the server takes a message so long. It hangs up on a longer one, which would look like a
/// link that failed, and be sent again and again.
pub(super) async fn fits(conn: &mut MySqlConnection, text: &str) -> Result<(), sqlx::Error> {
    if text.len() < TAKEN {
        return Ok(());
    }
    let limit = sqlx::raw_sql(sql::MAX_PACKET);
    let limit: i64 = limit.fetch_one(conn).await?.try_get("bytes")?;
    // One byte says that it is a query.
    if usize::try_from(limit).is_ok_and(|limit| text.len() + 1 < limit) {
        return Ok(());
    }
    let refused = format!(
        "a statement of {} bytes is over the server's max_allowed_packet of {limit}",
        text.len()
    );
    Err(sqlx::Error::Encode(refused.into()))
}

pub(super) fn last(rows: Vec<MySqlRow>) -> Result<MySqlRow, Error> {
    let row = rows.into_iter().next_back();
    row.ok_or_else(|| Error::Database(sqlx::Error::RowNotFound.into()))
}
