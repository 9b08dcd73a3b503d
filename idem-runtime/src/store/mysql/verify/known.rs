//! The tables that were found fit.

use sha2::{Digest as _, Sha256};
use sqlx::mysql::MySqlRow;

use super::super::super::bounded::Bounded;
use super::said;

/// Each by a digest of where it is, of the name under which it was asked for, and of its definition.
static KNOWN: Bounded<[u8; 32], ()> = Bounded::new();

/// Whether this table, of this definition, was found fit before.
pub(in super::super) fn is_known(table: &str, definition: &MySqlRow, facts: &MySqlRow) -> bool {
    digest(table, definition, facts)
        .is_some_and(|digest| KNOWN.find(|known| *known == digest).is_some())
}

pub(super) fn remember(table: &str, definition: &MySqlRow, facts: &MySqlRow) {
    if let Some(digest) = digest(table, definition, facts) {
        KNOWN.insert(digest, ());
    }
}

/// The definition in a row of `SHOW CREATE TABLE`; empty for what is no table.
pub(super) fn text(row: &MySqlRow) -> String {
    said(row, "Create Table")
}

/// `None` for a definition that does not say all: a session's SQL mode may leave the engine out.
fn digest(table: &str, definition: &MySqlRow, facts: &MySqlRow) -> Option<[u8; 32]> {
    let text = text(definition);
    let place = said(facts, "place");
    if place.is_empty() || !text.contains("ENGINE=") {
        return None;
    }
    let parts = [place.as_str(), table, &without_counter(&text)];
    Some(Sha256::digest(parts.join("\0")).into())
}

/// Leaves out the next value of an AUTO_INCREMENT column, which each INSERT changes.
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
