//! The rule that scopes, keys and operation names share.

use crate::error::{Field, Invalid, Reason};

/// Accepts text that is not blank, has at most `limit` characters, and no control character.
pub(crate) fn check(field: Field, text: &str, limit: usize) -> Result<(), Invalid> {
    if is_blank(text) {
        return Err(Invalid::new(field, Reason::Empty));
    }
    // Bytes bound characters from above, so most texts need not be counted.
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

/// Empty, or only white space.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
