//! The rules for names that are literals in the attribute.
//!
//! The runtime's constructors enforce the same rules. Here a fault has a span and says what to
//! type.

use syn::LitStr;

use crate::diagnostic::{Code, fault};
use crate::{duration, namespace, size};

/// Checks a namespace by [its rule](namespace::complaint).
pub(crate) fn namespace(literal: &LitStr) -> syn::Result<String> {
    let text = literal.value();
    match namespace::complaint(&text) {
        None => Ok(text),
        Some(complaint) => Err(fault(Code::Namespace, literal, complaint)),
    }
}

/// Checks an operation's name: 1 to 255 characters, no control characters.
pub(crate) fn operation(literal: &LitStr) -> syn::Result<String> {
    let blank = "the operation's name is blank: leave the option out to use the function's name";
    title(Code::OperationName, "an operation's name", blank, literal)
}

/// Checks the class of a failure by the same rule.
pub(crate) fn class(literal: &LitStr) -> syn::Result<String> {
    let blank = "the class is blank: leave the option out to use the variant's name";
    title(Code::Class, "a class", blank, literal)
}

fn title(code: Code, what: &str, blank: &str, literal: &LitStr) -> syn::Result<String> {
    let text = literal.value();
    let length = text.chars().count();
    let complaint = if text.trim().is_empty() {
        blank.to_owned()
    } else if text.trim() != text {
        format!(
            "{what} cannot start or end with a space: write `{}`",
            text.trim()
        )
    } else if length > 255 {
        format!("{what} has at most 255 characters, this one {length}")
    } else if let Some(wrong) = text.chars().find(|c| c.is_control()) {
        format!("{what} cannot contain a control character, this one contains {wrong:?}")
    } else {
        return Ok(text);
    };
    Err(fault(code, literal, complaint))
}

/// The maximum length of a database identifier, in bytes.
const IDENTIFIER_MAX: usize = 63;
/// The maximum length of a table's name, in bytes. The names of a longer table's indexes would be
/// truncated to the same name.
const TABLE_MAX: usize = 61;

/// Checks a table's name: a lower-case identifier, with an optional schema before it.
pub(crate) fn table(literal: &LitStr) -> syn::Result<String> {
    let text = literal.value();
    let parts: Vec<&str> = text.split('.').collect();
    let complaint = if parts.len() > 2 {
        Some("a table is written `name` or `schema.name`".to_owned())
    } else {
        let long = parts.last().filter(|name| name.len() > TABLE_MAX);
        let long = long.map(|name| {
            format!(
                "a table's name has at most 61 bytes, or the names of its indexes would be truncated to the same 63 bytes; `{name}` has {}",
                name.len()
            )
        });
        let parts = parts.iter();
        parts
            .map(|part| identifier(part))
            .find_map(|fault| fault)
            .or(long)
    };
    match complaint {
        None => Ok(text),
        Some(complaint) => Err(fault(Code::TableName, literal, complaint)),
    }
}

fn identifier(part: &str) -> Option<String> {
    let first = part.chars().next();
    if first.is_none() {
        return Some(
            "a part of the table's name is empty: write `name` or `schema.name`".to_owned(),
        );
    }
    if part.len() > IDENTIFIER_MAX {
        return Some(format!(
            "a database identifier has at most 63 bytes, `{part}` has {}",
            part.len()
        ));
    }
    let start = matches!(first, Some('a'..='z' | '_'));
    let rest = part
        .chars()
        .all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_'));
    (!(start && rest)).then(|| {
        format!("`{part}` must be an identifier of `a-z`, `0-9` and `_` that does not start with a digit")
    })
}

/// Checks a duration against an upper limit. Returns it in seconds.
pub(crate) fn duration(option: &str, literal: &LitStr, limit: u64) -> syn::Result<u64> {
    let text = literal.value();
    let complaint = match duration::parse(&text) {
        Ok(seconds) if seconds <= limit => return Ok(seconds),
        Ok(_) => format!("it can be at most `{}`", duration::display(limit)),
        Err(help) => help,
    };
    Err(fault(
        Code::Duration,
        literal,
        format_args!("{option} `{text}`: {complaint}"),
    ))
}

/// Checks a size against an upper limit. Returns it in bytes.
pub(crate) fn size(option: &str, literal: &LitStr, limit: u64) -> syn::Result<u64> {
    let text = literal.value();
    let complaint = match size::parse(&text) {
        Ok(bytes) if bytes <= limit => return Ok(bytes),
        Ok(_) => format!("it can be at most `{}`", size::display(limit)),
        Err(help) => help,
    };
    Err(fault(
        Code::Size,
        literal,
        format_args!("{option} `{text}`: {complaint}"),
    ))
}
