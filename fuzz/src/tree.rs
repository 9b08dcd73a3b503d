//! A JSON value and its canonical form, by the documented rules and without regard for speed.

use std::fmt::Write as _;

use crate::decimal;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    /// The number as written, in JSON's grammar.
    Number(String),
    Text(String),
    Array(Vec<Self>),
    Object(Vec<(String, Self)>),
}

/// Why a value has no canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    NotJson,
    Duplicate,
    Number,
    /// Its type cannot be JSON.
    Value,
}

impl Tree {
    pub(crate) fn canonical(&self) -> Result<String, Refusal> {
        Ok(match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Number(text) => decimal::canonical(text).ok_or(Refusal::Number)?,
            Self::Text(text) => quoted(text),
            Self::Array(items) => {
                let items: Result<Vec<_>, _> = items.iter().map(Self::canonical).collect();
                format!("[{}]", items?.join(","))
            }
            Self::Object(members) => {
                let mut sorted: Vec<(Vec<char>, String)> = Vec::new();
                for (name, value) in members {
                    let member = format!("{}:{}", quoted(name), value.canonical()?);
                    sorted.push((name.chars().collect(), member));
                }
                sorted.sort();
                if sorted.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                    return Err(Refusal::Duplicate);
                }
                let members: Vec<_> = sorted.into_iter().map(|(_, member)| member).collect();
                format!("{{{}}}", members.join(","))
            }
        })
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\u{8}' => quoted.push_str("\\b"),
            '\t' => quoted.push_str("\\t"),
            '\n' => quoted.push_str("\\n"),
            '\u{c}' => quoted.push_str("\\f"),
            '\r' => quoted.push_str("\\r"),
            c if c < ' ' => {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
