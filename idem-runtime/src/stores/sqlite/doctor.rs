//! What the settings and figures of a SQLite file mean. Those of a connection are the service's own.

use crate::stores::doctor::{Facts, Finding, Severity};

pub(super) fn diagnose(facts: &Facts, _table: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |severity, check, text: String, mend: &str| {
        found.push(Finding::new(severity, check, text, mend));
    };
    let check = facts.get("quick_check");
    if !["", "ok"].contains(&check) {
        add(
            Severity::Fault,
            "file",
            "the file is damaged (PRAGMA quick_check)".to_owned(),
            "sqlite3 <file> .recover into a new file, or restore a backup",
        );
    }
    let journal = facts.get("journal_mode");
    if ["off", "memory"].contains(&journal) {
        add(
            Severity::Fault,
            "durability",
            format!("journal_mode is {journal}: a crash in a transaction damages the file"),
            "in the service: journal_mode(SqliteJournalMode::Wal)",
        );
    } else if !["", "wal"].contains(&journal) {
        add(
            Severity::Note,
            "journal",
            format!("journal_mode is {journal}: readers and replays wait for the writer"),
            "in the service: journal_mode(SqliteJournalMode::Wal)",
        );
    }
    for column in ["expires_at", "locked_until"] {
        if facts.get(&format!("index.{column}")).is_empty() {
            add(
                Severity::Warning,
                "index",
                format!(
                    "there is no index on {column}: purge and reconciliation read the whole table"
                ),
                "run the CREATE INDEX of `idem schema print --only record`",
            );
        }
    }
    let (pages, free) = (facts.number("pages"), facts.number("free_pages"));
    if free > 10_000 && free > pages / 2 {
        add(
            Severity::Note,
            "bloat",
            format!("{free} of the file's {pages} pages are free"),
            "sqlite3 <file> VACUUM, while no service runs",
        );
    }
    found
}
