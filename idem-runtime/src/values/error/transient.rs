//! Errors of the database that may pass.

use sqlx::Error;

/// Returns whether a handler's own statement failed for a reason that may pass, so that the same call with the same key may
/// succeed: for the 503 of a handler's own error type, whose variant holds a `sqlx::Error`.
///
/// Transient are: a deadlock or a serialization failure; a lock or a statement that took too long, or was cancelled; a busy
/// SQLite file; no free connection, or a lost one; a server that starts, stops or is short of resources. The whole call
/// must be repeated, because its transaction is rolled back. Any other error (a constraint, a wrong statement, a missing
/// right) is not: a retry fails in the same way. The vendor's code decides, never the text.
///
/// The library's own errors are judged by [`Error::is_retryable`](super::Error::is_retryable).
///
/// ```
/// use idem_runtime::error::is_transient;
///
/// # #[derive(Debug)]
/// enum PaymentError {
///     Database(sqlx::Error),
///     Idempotency(idem_runtime::Error),
/// }
///
/// impl PaymentError {
///     fn status(&self) -> u16 {
///         match self {
///             Self::Database(error) if is_transient(error) => 503,
///             Self::Database(_) => 500,
///             Self::Idempotency(error) => error.status(),
///         }
///     }
/// }
///
/// assert_eq!(PaymentError::Database(sqlx::Error::PoolTimedOut).status(), 503);
/// assert_eq!(PaymentError::Database(sqlx::Error::RowNotFound).status(), 500);
/// ```
pub fn is_transient(error: &Error) -> bool {
    match error {
        Error::Database(error) => of_server(&**error),
        Error::Io(_)
        | Error::Tls(_)
        | Error::Protocol(_)
        | Error::PoolTimedOut
        | Error::PoolClosed
        | Error::WorkerCrashed => true,
        _ => false,
    }
}

/// Judges an error that the server sent, by the vendor's code.
#[cfg_attr(
    not(any(feature = "mysql", feature = "postgres", feature = "sqlite")),
    expect(unused_variables, reason = "no server can send one")
)]
fn of_server(error: &(dyn sqlx::error::DatabaseError + 'static)) -> bool {
    #[cfg(feature = "postgres")]
    if let Some(error) = error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>() {
        return of_postgres(error.code());
    }
    #[cfg(feature = "mysql")]
    if let Some(error) = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return of_mysql(error.number());
    }
    #[cfg(feature = "sqlite")]
    if error
        .try_downcast_ref::<sqlx::sqlite::SqliteError>()
        .is_some()
    {
        return error.code().is_some_and(|code| of_sqlite(&code));
    }
    false
}

/// By SQLSTATE: PostgreSQL's manual, appendix A.
#[cfg(feature = "postgres")]
fn of_postgres(code: &str) -> bool {
    match code {
        // A serialization failure, a deadlock; a lock that is not available; a cancelled statement; a transaction or a session
        // that was idle for too long.
        "40001" | "40P01" | "55P03" | "57014" | "25P03" | "25P04" => true,
        // The database was dropped.
        "57P04" => false,
        _ => ["08", "53", "57P"]
            .iter()
            .any(|class| code.starts_with(class)),
    }
}

/// By number: the manuals of MySQL and MariaDB.
#[cfg(feature = "mysql")]
fn of_mysql(number: u16) -> bool {
    matches!(
        number,
        // A deadlock, a snapshot too old, a full lock table, a conflict in a group.
        1213 | 1020 | 1206 | 3101
        // A wait or a statement that took too long, a cancelled one.
        | 1205 | 3572 | 1317 | 1969 | 3024
        // The connection: none free, refused, lost, ended.
        | 1040 | 1041 | 1047 | 1053 | 1077 | 1078 | 1079 | 1152 | 1155
            ..=1161 | 1184 | 1203 | 1226 | 1927 | 3169 | 4031
    )
}

/// By the primary code, the lowest byte: <https://sqlite.org/rescode.html>.
#[cfg(feature = "sqlite")]
fn of_sqlite(code: &str) -> bool {
    // `SQLITE_BUSY`, `SQLITE_LOCKED`, `SQLITE_INTERRUPT`.
    code.parse::<u32>()
        .is_ok_and(|code| matches!(code & 0xFF, 5 | 6 | 9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_may_come_back_and_faults_of_the_program_do_not() {
        let lost = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        for error in [Error::Io(lost), Error::PoolTimedOut, Error::WorkerCrashed] {
            assert!(is_transient(&error), "{error}");
        }
        for error in [Error::RowNotFound, Error::ColumnNotFound("id".to_owned())] {
            assert!(!is_transient(&error), "{error}");
        }
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn a_constraint_and_a_dropped_database_stay() {
        for code in ["40001", "40P01", "08006", "53300", "57P01", "55P03"] {
            assert!(of_postgres(code), "{code}");
        }
        for code in ["23505", "40002", "42601", "57P04", "42501"] {
            assert!(!of_postgres(code), "{code}");
        }
    }

    #[cfg(feature = "mysql")]
    #[test]
    fn a_duplicate_stays_on_mysql() {
        assert!(of_mysql(1213) && of_mysql(1205) && of_mysql(1158));
        assert!(!of_mysql(1062) && !of_mysql(1064) && !of_mysql(1452));
    }

    #[cfg(feature = "sqlite")]
    #[test]
    fn an_extended_code_of_sqlite_is_judged_by_its_primary_one() {
        assert!(of_sqlite("5") && of_sqlite("517") && of_sqlite("262"));
        assert!(!of_sqlite("1555") && !of_sqlite("2067") && !of_sqlite("1"));
    }
}
