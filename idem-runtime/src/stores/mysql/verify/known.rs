//! The tables that were found fit.

use sqlx::mysql::MySqlRow;

use super::super::super::bounded::Bounded;
use super::said;

/// Each with its database, the name under which it was asked for, and its definition.
static KNOWN: Bounded<String, ()> = Bounded::new();

/// Returns whether this table, with this definition, was found fit before.
pub(in super::super) fn is_known(table: &str, definition: &str, database_path: &str) -> bool {
    name(table, definition, database_path)
        .is_some_and(|name| KNOWN.find(|known| *known == name).is_some())
}

pub(super) fn remember(table: &str, definition: &str, database_path: &str) {
    if let Some(name) = name(table, definition, database_path) {
        KNOWN.insert(name, ());
    }
}

/// The server and database in which a table was found fit, by the address and database that a pool connects to.
static PATHS: Bounded<(u64, String), String> = Bounded::new();

/// Returns where the table was found fit through a pool of this address.
pub(in super::super) fn path(address: u64, table: &str) -> Option<String> {
    let path = PATHS.find(|(of, name)| *of == address && name == table)?;
    (!path.is_empty()).then_some(path)
}

pub(in super::super) fn remember_path(address: u64, table: &str, database_path: &str) {
    PATHS.insert((address, table.to_owned()), database_path.to_owned());
}

/// Lets the table be verified before the next body.
pub(in super::super) fn forget_path(address: u64, table: &str) {
    remember_path(address, table, "");
}

/// Returns the definition in a row of `SHOW CREATE TABLE`; empty if the row is of no table.
pub(in super::super) fn text(row: &MySqlRow) -> String {
    said(row, "Create Table")
}

/// Returns the server and the database in which a row was read.
pub(in super::super) fn database_path(row: &MySqlRow) -> String {
    said(row, "database_path")
}

/// Returns the entry to remember; `None` if the definition is not complete: a session's SQL mode may leave the
/// engine out.
fn name(table: &str, definition: &str, database_path: &str) -> Option<String> {
    if database_path.is_empty() || !definition.contains("ENGINE=") {
        return None;
    }
    Some([database_path, table, &without_counter(definition)].join("\0"))
}

/// Removes the next value of an `AUTO_INCREMENT` column, which each INSERT changes.
fn without_counter(text: &str) -> String {
    const COUNTER: &str = " AUTO_INCREMENT=";
    let mut pieces = text.split(COUNTER);
    let mut kept = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        kept.push_str(piece.trim_start_matches(|letter: char| letter.is_ascii_digit()));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_no_part_of_a_definition() {
        let table = |counter: &str| {
            format!(
                "CREATE TABLE `t` (\n  `n` int NOT NULL AUTO_INCREMENT\n) ENGINE=InnoDB{counter} X"
            )
        };
        for counter in [
            "",
            " AUTO_INCREMENT=2",
            " AUTO_INCREMENT=18446744073709551615",
        ] {
            assert_eq!(without_counter(&table(counter)), table(""));
        }
    }
}
