//! The name of the outbox's table.

use std::borrow::Cow;

use super::error::OutboxError;

/// The name of the default table.
pub const DEFAULT_TABLE: &str = "idem_outbox";

/// The longest part of a table's name, in bytes: with the longest suffix of an index it has 63, PostgreSQL's limit.
const NAME_MAX: usize = 48;

/// Checks a name, because it is spliced into SQL text.
pub(super) fn checked(table: &str) -> Result<Cow<'static, str>, OutboxError> {
    let is_name = |part: &str| {
        let head = part
            .bytes()
            .next()
            .is_some_and(|b| b.is_ascii_lowercase() || b == b'_');
        head && part.len() <= NAME_MAX
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let is_table = match table.split_once('.') {
        Some((schema, name)) => is_name(schema) && is_name(name),
        None => is_name(table),
    };
    if is_table {
        return Ok(Cow::Owned(table.to_owned()));
    }
    Err(OutboxError::Table {
        table: table.to_owned(),
    })
}
