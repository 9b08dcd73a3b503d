//! How long statements may run or wait at the server.

use std::time::Duration;

use sqlx::mysql::{MySqlConnection, MySqlPoolOptions};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Executor as _, Postgres};

use super::{try_to_reach, unreached};
use crate::fault::Fault;

/// The code with which poolers refuse parameters of a session's start: protocol violation.
const REFUSED_PARAMETER: &str = "08P01";

/// The number of MySQL and MariaDB for a variable that the server does not have.
const UNKNOWN_VARIABLE: u16 = 1193;

/// Connects once with the limits, and returns the options that did.
///
/// The limits go with the start of the session. `SET` would leave them to the next client of a pooler in transaction mode.
pub(super) async fn postgres(
    options: PgConnectOptions,
    limit: Option<Duration>,
) -> Result<PgConnectOptions, Fault> {
    let Some(limit) = limit else {
        let reached = try_to_reach::<Postgres>(&options).await;
        return reached.map(|()| options).map_err(|error| unreached(&error));
    };
    let limit = limit.as_millis().max(1);
    let limited = options
        .clone()
        .options([("statement_timeout", limit), ("lock_timeout", limit)]);
    match try_to_reach::<Postgres>(&limited).await {
        Ok(()) => Ok(limited),
        Err(error) if is_refused_parameter(&error) => Err(Fault::environment(
            "the pooler before the server takes no limits of a session",
        )
        .mend("say --statement-timeout 0s, and set the limits for the account: ALTER ROLE .. SET statement_timeout = '10s'")),
        Err(error) => Err(unreached(&error)),
    }
}

fn is_refused_parameter(error: &sqlx::Error) -> bool {
    let code = error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| code == REFUSED_PARAMETER)
}

/// Sets the limits in each new session.
pub(super) fn mysql(pool: MySqlPoolOptions, limit: Option<Duration>) -> MySqlPoolOptions {
    let Some(limit) = limit else {
        return pool;
    };
    pool.after_connect(move |conn, _| Box::pin(limit_session(conn, limit)))
}

async fn limit_session(conn: &mut MySqlConnection, limit: Duration) -> Result<(), sqlx::Error> {
    let (millis, seconds) = (limit.as_millis().max(1), limit.as_secs().max(1));
    let waits = format!(
        "SET SESSION innodb_lock_wait_timeout = {seconds}, SESSION lock_wait_timeout = {seconds}"
    );
    conn.execute(AssertSqlSafe(waits)).await?;
    // MySQL's variable, which ends SELECTs alone, and MariaDB's.
    let run = format!("SET SESSION max_execution_time = {millis}");
    match conn.execute(AssertSqlSafe(run)).await {
        Err(error) if is_unknown_variable(&error) => {}
        done => return done.map(drop),
    }
    let run = format!("SET SESSION max_statement_time = {millis} / 1000");
    conn.execute(AssertSqlSafe(run)).await.map(drop)
}

fn is_unknown_variable(error: &sqlx::Error) -> bool {
    let error = error.as_database_error();
    let error = error.and_then(|error| error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>());
    error.is_some_and(|error| error.number() == UNKNOWN_VARIABLE)
}
