//! What the settings and figures of a PostgreSQL server mean.

use sqlx::postgres::{PgConnection, PgPool};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use super::sql::doctor as sql;
use crate::stores::doctor::{AddFinding, Facts, Finding, Severity};

/// Returns whether a pooler stands between this process and the server; `None` if that cannot be found out.
pub(super) async fn is_behind_pooler(pool: &PgPool) -> Option<bool> {
    let options = (*pool.connect_options()).clone().options([sql::DIRECT]);
    let mut conn = match PgConnection::connect_with(&options).await {
        Ok(conn) => conn,
        // A pooler refuses startup options, unless it was told to drop them.
        Err(sqlx::Error::Database(_)) => return Some(true),
        Err(_) => return None,
    };
    let row = sqlx::raw_sql(AssertSqlSafe(sql::IS_DIRECT.to_owned()))
        .fetch_one(&mut conn)
        .await;
    let answer: String = row.ok()?.try_get(0).ok()?;
    // If it cannot be closed, the server closes it.
    let _ = conn.close().await;
    Some(answer.is_empty())
}

pub(super) fn diagnose(facts: &Facts, table: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |severity, check, text: String, mend: String| {
        found.push(Finding::new(severity, check, text, mend));
    };
    let set = |name: &str, value: &str| {
        format!("ALTER SYSTEM SET {name} = '{value}', then pg_reload_conf()")
    };
    let version = facts.number("server_version_num");
    if version > 0 && version < 140_000 {
        add(
            Severity::Fault,
            "version",
            format!(
                "the server is of version {}, and 14 is the oldest that is supported",
                version / 10_000
            ),
            "upgrade the server".to_owned(),
        );
    }
    if facts.is_on("in_recovery") {
        add(
            Severity::Fault,
            "replica",
            "the server is a standby: calls fail, and what it shows may be stale".to_owned(),
            "use the URL of the primary".to_owned(),
        );
    }
    for name in ["fsync", "full_page_writes"] {
        if facts.get(name) == "off" {
            add(
                Severity::Fault,
                "durability",
                format!(
                    "{name} is off: a crash may lose committed records, and their effects happen twice"
                ),
                set(name, "on"),
            );
        }
    }
    if facts.get("synchronous_commit") == "off" {
        add(
            Severity::Warning,
            "durability",
            "synchronous_commit is off: a crash may lose the last commits, effect and record together; leases are not affected"
                .to_owned(),
            set("synchronous_commit", "on"),
        );
    }
    let isolation = facts.get("default_transaction_isolation");
    if !["", "read committed"].contains(&isolation) {
        add(
            Severity::Note,
            "isolation",
            format!("the default isolation is {isolation}: a first run costs a round trip more, and bodies may fail with 40001"),
            "ALTER ROLE <service> SET default_transaction_isolation = 'read committed', or idem.fused=off".to_owned(),
        );
    }
    leaks(facts, &mut add);
    table_health(facts, table, &mut add);
    found
}

/// Settings that write statements with keys and payloads into the server's log.
fn leaks(facts: &Facts, add: AddFinding<'_>) {
    let statement = facts.get("log_statement");
    if ["all", "mod"].contains(&statement) {
        add(
            Severity::Warning,
            "log",
            format!(
                "log_statement is {statement}: the server's log holds keys, requests and results, in hexadecimal"
            ),
            "ALTER ROLE <service> SET log_statement = 'ddl'".to_owned(),
        );
    }
    let duration = facts.get("log_min_duration_statement");
    if !["", "-1"].contains(&duration) {
        add(
            Severity::Warning,
            "log",
            format!(
                "log_min_duration_statement is {duration} ms: slower statements are logged with keys, requests and results, in \
                 hexadecimal"
            ),
            "ALTER ROLE <service> SET log_min_duration_statement = -1".to_owned(),
        );
    }
    let error = facts.get("log_min_error_statement");
    let quiet = ["fatal", "panic"];
    if !error.is_empty()
        && !quiet.contains(&error)
        && !quiet.contains(&facts.get("log_min_messages"))
    {
        add(
            Severity::Note,
            "log",
            format!(
                "log_min_error_statement is {error}: the log holds the key of a retry that comes to another process, in hexadecimal"
            ),
            "ALTER ROLE <service> SET log_min_error_statement = 'fatal'".to_owned(),
        );
    }
}

fn table_health(facts: &Facts, table: &str, add: AddFinding<'_>) {
    for column in ["expires_at", "locked_until"] {
        if !facts.get(&format!("index.{column}.invalid")).is_empty() {
            add(
                Severity::Warning,
                "index",
                format!("the index on {column} is invalid: it is written, and not read"),
                format!(
                    "REINDEX INDEX CONCURRENTLY {}",
                    facts.get(&format!("index.{column}.invalid"))
                ),
            );
        } else if facts.get(&format!("index.{column}")).is_empty() {
            add(
                Severity::Warning,
                "index",
                format!(
                    "there is no index on {column}: purge and reconciliation read the whole table"
                ),
                "run the CREATE INDEX of `idem schema print --only record`".to_owned(),
            );
        }
    }
    if !facts.get("autovacuum_off").is_empty() {
        add(
            Severity::Warning,
            "bloat",
            format!("autovacuum is off on `{table}`: what was purged is never reused"),
            format!("ALTER TABLE {table} RESET (autovacuum_enabled)"),
        );
    }
    let (live, dead) = (facts.number("live"), facts.number("dead"));
    if dead > 10_000 && dead > live {
        add(
            Severity::Warning,
            "bloat",
            format!(
                "`{table}` has {dead} dead rows beside {live} live ones: an old transaction keeps them, or vacuum is behind"
            ),
            format!("end the oldest transaction of pg_stat_activity, then VACUUM {table}"),
        );
    }
}
