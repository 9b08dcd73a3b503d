//! The rule for the text of scopes, keys and operation names.

use crate::values::error::{Field, Invalid, Reason};

/// Checks that `text` is not blank, has at most `limit` characters, and contains no control
/// character.
pub(crate) fn check(field: Field, text: &str, limit: usize) -> Result<(), Invalid> {
    if is_blank(text) {
        return Err(Invalid::new(field, Reason::Empty));
    }
    // A text has at least as many bytes as characters: count characters only if the bytes exceed
    // the limit.
    if text.len() > limit {
        let length = text.chars().count();
        if length > limit {
            return Err(Invalid::new(field, Reason::TooLong { limit, length }));
        }
    }
    match text.chars().enumerate().find(|(_, c)| c.is_control()) {
        Some((index, found)) => Err(Invalid::new(field, Reason::Control { found, index })),
        None => Ok(()),
    }
}

/// Returns whether the text is empty or consists of white space.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
