//! Does an error say that the database has given its transaction up?

use std::error::Error;

use sqlx::error::DatabaseError;

/// Whether the error, or one behind it, is a deadlock or a serialization failure: by SQLSTATE on
/// PostgreSQL, MySQL and MariaDB, on SQLite by the code of a lock that was not to be had. What failed so may
/// succeed when it is tried again, whatever the error around it is called.
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

/// The database's error, as the driver holds it.
fn database_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e dyn DatabaseError> {
    if let Some(error) = error.downcast_ref::<sqlx::Error>() {
        return error.as_database_error();
    }
    error
        .downcast_ref::<Box<dyn DatabaseError>>()
        .map(AsRef::as_ref)
}

/// `SQLITE_BUSY` and `SQLITE_LOCKED` carry more in their higher bytes.
fn says_so(error: &dyn DatabaseError) -> bool {
    let Some(code) = error.code() else {
        return false;
    };
    match &*code {
        "40001" | "40P01" => true,
        // A SQLSTATE has five characters; these are fewer.
        code if code.len() < 5 => code
            .parse::<u32>()
            .is_ok_and(|code| matches!(code & 0xFF, 5 | 6)),
        _ => false,
    }
}
