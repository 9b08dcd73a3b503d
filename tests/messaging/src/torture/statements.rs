//! The SQL of the handlers, one text for every database.

use sqlx::AssertSqlSafe;

use super::fact::{Fact, PARTITIONS};

/// Counts the effects that a consumer has not had yet.
pub const BACKLOG: &str = "SELECT (SELECT count(*) FROM effect) - (SELECT count(*) FROM booked) + \
     (SELECT count(*) FROM effect) - (SELECT count(*) FROM shown)";

/// Counts the events that have not left.
pub const PENDING: &str = "SELECT count(*) FROM idem_outbox WHERE state NOT IN (1, 2)";

/// Returns the statements that create the tables. `counted` is the type of a column that numbers the rows in the order
/// of their INSERTs, and is the primary key.
///
/// No table of effects has a constraint that a duplicate would break.
pub fn tables(counted: &str) -> Vec<String> {
    let columns = "key_name varchar(64) NOT NULL, part bigint NOT NULL, n bigint NOT NULL";
    let mut statements: Vec<_> = [
        ("effect", ", event varchar(64) NOT NULL"),
        ("booked", ""),
        ("shown", ""),
    ]
    .map(|(table, more)| format!("CREATE TABLE {table} (at {counted}, {columns}{more})"))
    .into();
    statements.push("CREATE TABLE numbers (part bigint PRIMARY KEY, n bigint NOT NULL)".to_owned());
    statements.extend(
        (0..PARTITIONS).map(|partition| format!("INSERT INTO numbers VALUES ({partition}, 0)")),
    );
    statements
}

/// Counts an effect in its partition, and keeps others from doing so until the transaction ends.
pub fn count(partition: i64) -> AssertSqlSafe<String> {
    AssertSqlSafe(format!(
        "UPDATE numbers SET n = n + 1 WHERE part = {partition}"
    ))
}

/// Reads the number of a partition's last effect.
pub fn counted(partition: i64) -> AssertSqlSafe<String> {
    AssertSqlSafe(format!("SELECT n FROM numbers WHERE part = {partition}"))
}

/// Writes an effect of a caller, with the id of its event.
pub fn write_effect(event: &str, fact: &Fact) -> AssertSqlSafe<String> {
    AssertSqlSafe(format!(
        "INSERT INTO effect (key_name, part, n, event) VALUES ({}, '{event}')",
        values(fact)
    ))
}

/// Writes the effect of a consumer to its table.
pub fn write_at_consumer(table: &str, fact: &Fact) -> AssertSqlSafe<String> {
    AssertSqlSafe(format!(
        "INSERT INTO {table} (key_name, part, n) VALUES ({})",
        values(fact)
    ))
}

/// Reads the events beyond a sequence number, in the order of their numbers.
pub fn appended_after(seq: i64) -> AssertSqlSafe<String> {
    AssertSqlSafe(format!(
        "SELECT seq, payload FROM idem_outbox WHERE seq > {seq} ORDER BY seq LIMIT 64"
    ))
}

/// Sets an event as published and kept, on PostgreSQL, where alone the cursor is planted.
pub fn published(seq: i64) -> AssertSqlSafe<String> {
    AssertSqlSafe(format!(
        "UPDATE idem_outbox SET state = 1, settled_at = appended_at, queued_xid = DEFAULT WHERE seq = {seq}"
    ))
}

fn values(fact: &Fact) -> String {
    let Fact {
        key,
        partition,
        number,
    } = fact;
    format!("'{key}', {partition}, {number}")
}
