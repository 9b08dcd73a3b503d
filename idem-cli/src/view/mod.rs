//! Prints tables for people, and JSON for programs.

mod time;

use std::io::{self, Write as _};

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::Value;

pub(crate) use self::time::{ago, json_time, time};

/// Prints a line. Whoever reads the output may stop before its end.
pub(crate) fn line(text: &str) {
    if let Err(error) = writeln!(io::stdout(), "{text}")
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        eprintln!("idem: the output cannot be written: {}", error.kind());
    }
}

/// Prints a table, or says that there is nothing.
pub(crate) fn print_table<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    nothing: &str,
) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    let mut is_empty = true;
    for row in rows {
        table.add_row(row);
        is_empty = false;
    }
    if is_empty {
        line(nothing);
    } else {
        line(&trimmed(&table.to_string()));
    }
}

/// Prints names and values, one pair a line.
pub(crate) fn print_pairs(pairs: impl IntoIterator<Item = (&'static str, Option<String>)>) {
    let pairs: Vec<_> = pairs
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
    let width = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in pairs {
        line(&format!("{name:width$}  {value}"));
    }
}

/// Prints JSON on a line.
pub(crate) fn print_json(value: &Value) {
    line(&value.to_string());
}

/// Replaces what would move a terminal's cursor: a key may hold any character that is no control character, but a payload
/// may hold those too.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars()
        .map(|c| {
            if c.is_control() {
                c.escape_unicode().to_string()
            } else {
                c.to_string()
            }
        })
        .collect()
}

/// Returns the scope as people read it.
pub(crate) fn scope(scope: &str) -> String {
    if scope.is_empty() {
        "(global)".to_owned()
    } else {
        scope.to_owned()
    }
}

fn trimmed(table: &str) -> String {
    let lines: Vec<_> = table
        .lines()
        .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end())
        .collect();
    lines.join("\n")
}
