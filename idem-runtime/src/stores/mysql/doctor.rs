//! What the settings and figures of a MySQL or MariaDB server mean.

use crate::stores::doctor::{AddFinding, Facts, Finding, Severity};

fn set(name: &str, value: &str) -> String {
    format!("my.cnf: {name} = {value}; at once: SET GLOBAL {name} = {value}")
}

pub(super) fn diagnose(facts: &Facts, table: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |severity, check, text: String, mend: String| {
        found.push(Finding::new(severity, check, text, mend));
    };
    if facts.is_on("read_only") {
        add(
            Severity::Fault,
            "replica",
            "the server is read-only: calls fail, and what it shows may be stale".to_owned(),
            "use the URL of the primary".to_owned(),
        );
    }
    let flush = facts.get("innodb_flush_log_at_trx_commit");
    if !["", "1"].contains(&flush) {
        add(
            Severity::Fault,
            "durability",
            format!(
                "innodb_flush_log_at_trx_commit is {flush}: a crash may lose committed records; of a lease the effect has \
                 happened, and happens twice"
            ),
            set("innodb_flush_log_at_trx_commit", "1"),
        );
    }
    if facts.is_on("log_bin") && facts.get("sync_binlog") != "1" {
        add(
            Severity::Warning,
            "durability",
            format!(
                "sync_binlog is {}: after a crash a replica may lack what the primary has",
                facts.get("sync_binlog")
            ),
            set("sync_binlog", "1"),
        );
    }
    if ["0", "OFF"].contains(&facts.get("innodb_doublewrite")) {
        add(
            Severity::Warning,
            "durability",
            "innodb_doublewrite is off: a crash may leave a page half written, unless the file system prevents it".to_owned(),
            "my.cnf: innodb_doublewrite = ON".to_owned(),
        );
    }
    let isolation = facts.get("isolation");
    if isolation == "READ-UNCOMMITTED" {
        add(
            Severity::Fault,
            "isolation",
            "the default isolation is READ-UNCOMMITTED: bodies read what is never committed"
                .to_owned(),
            "my.cnf: transaction-isolation = READ-COMMITTED".to_owned(),
        );
    }
    leaks(facts, &mut add);
    limits_and_table(facts, table, &mut add);
    found
}

/// Settings that write statements with keys and payloads into the server's log.
fn leaks(facts: &Facts, add: AddFinding<'_>) {
    if facts.is_on("general_log") {
        add(
            Severity::Warning,
            "log",
            "general_log is on: the log holds every key, request and result, in hexadecimal"
                .to_owned(),
            set("general_log", "OFF"),
        );
    }
    if facts.is_on("slow_query_log") {
        add(
            Severity::Note,
            "log",
            format!(
                "slow_query_log is on: statements slower than {} s are logged with keys, requests and results, in hexadecimal",
                facts.get("long_query_time")
            ),
            set("slow_query_log", "OFF"),
        );
    }
}

fn limits_and_table(facts: &Facts, table: &str, add: AddFinding<'_>) {
    let packet = facts.number("max_allowed_packet");
    if packet > 0 && packet < 4 << 20 {
        add(
            Severity::Warning,
            "limits",
            format!(
                "max_allowed_packet is {packet} bytes: a result of 1 MiB takes more than 2 MiB of text"
            ),
            set("max_allowed_packet", "16777216"),
        );
    }
    for column in ["expires_at", "locked_until"] {
        if facts.get(&format!("index.{column}")).is_empty() {
            add(
                Severity::Warning,
                "index",
                format!(
                    "there is no index on {column}: purge and reconciliation read the whole table, and lock it"
                ),
                format!("ALTER TABLE {table} ADD KEY idem_record_{column} ({column})"),
            );
        }
    }
    let (length, free) = (facts.number("data_length"), facts.number("data_free"));
    if free > 1 << 30 && free > length {
        add(
            Severity::Note,
            "bloat",
            format!(
                "`{table}` has {} MiB free beside {} MiB of data",
                free >> 20,
                length >> 20
            ),
            format!("OPTIMIZE TABLE {table}, at a quiet hour"),
        );
    }
}
