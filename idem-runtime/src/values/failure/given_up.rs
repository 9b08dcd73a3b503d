//! Detection of deadlocks and serialization failures in an error's sources.

use std::error::Error;

use sqlx::error::DatabaseError;

/// Returns whether the error or one of its sources is a deadlock or a serialization failure.
/// PostgreSQL, MySQL and MariaDB report them by SQLSTATE (`40P01`, `40001`; PostgreSQL manual,
/// appendix A), SQLite by the result codes `SQLITE_BUSY` and `SQLITE_LOCKED`
/// (<https://sqlite.org/rescode.html>). A retry may succeed, so such an error is never permanent.
pub(crate) fn is_given_up(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if database_error(error).is_some_and(says_so) {
            return true;
        }
        next = error.source();
    }
    false
}

/// Returns the driver's error inside a `sqlx::Error` or a boxed `DatabaseError`.
fn database_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e dyn DatabaseError> {
    if let Some(error) = error.downcast_ref::<sqlx::Error>() {
        return error.as_database_error();
    }
    error
        .downcast_ref::<Box<dyn DatabaseError>>()
        .map(AsRef::as_ref)
}

/// Matches the code of one error. SQLite's extended result codes keep the primary code
/// (`SQLITE_BUSY` is 5, `SQLITE_LOCKED` is 6) in their lowest byte.
fn says_so(error: &dyn DatabaseError) -> bool {
    let Some(code) = error.code() else {
        return false;
    };
    match &*code {
        "40001" | "40P01" => true,
        // A SQLSTATE has five characters; SQLite's codes have fewer.
        code if code.len() < 5 => code
            .parse::<u32>()
            .is_ok_and(|code| matches!(code & 0xFF, 5 | 6)),
        _ => false,
    }
}
