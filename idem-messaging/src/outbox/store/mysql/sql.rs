//! The statements for MySQL and MariaDB. Only integers and hexadecimal digits are spliced.

use std::fmt::Write as _;

use crate::outbox::store::verdict::Partition;
#[cfg(any(feature = "metrics", feature = "operate"))]
use crate::outbox::store::{COUNTED, SEARCHED};
use crate::outbox::store::{PROMOTED, Selection};

/// Microseconds since the epoch by the server's clock, for a session of the relay's own. It is constant in a statement,
/// so that it bounds an index scan.
pub(super) const NOW: &str = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";

/// The same in the session of an application, which may have set another time (`SET timestamp`).
const TRUE_NOW: &str = "IF(ABS(TIMESTAMPDIFF(SECOND, NOW(), SYSDATE())) < 60, \
     TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), \
     CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED))";

/// Each statement of the relay needs a snapshot of its own.
pub(super) const ISOLATION: &str = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";
pub(super) const BEGIN: &str = "START TRANSACTION READ WRITE";

/// Inserts nothing outside of a transaction. Only MariaDB can be asked in a statement; MySQL takes the condition for a
/// comment.
pub(super) fn insert(table: &str) -> String {
    format!(
        "INSERT INTO {table} (appended_at, due_at, id, topic, partition_key, event_type, source, subject, content_type, \
         traceparent, tracestate, headers, payload, deliver_at) \
         SELECT n.now, coalesce(?, n.now) + ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, \
         CASE WHEN ? = 1 THEN coalesce(?, n.now) + ? END FROM (SELECT {TRUE_NOW} AS now) AS n \
         /*M! WHERE @@in_transaction = 1 */"
    )
}

pub(super) fn lock_partition(table: &str) -> String {
    format!(
        "INSERT INTO {table}_lock (slot, taken) VALUES (?, 1) ON DUPLICATE KEY UPDATE taken = taken + 1"
    )
}

/// Whether anything is due: it locks nothing.
pub(super) fn is_due(table: &str) -> String {
    format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE state = 0 AND due_at <= {NOW})")
}

pub(super) fn due(table: &str) -> String {
    format!(
        "SELECT seq, topic, partition_key FROM {table} WHERE state = 0 AND due_at <= {NOW} ORDER BY due_at, seq LIMIT ? \
         FOR UPDATE SKIP LOCKED"
    )
}

pub(super) fn paused(table: &str) -> String {
    format!("SELECT topic FROM {table}_paused LOCK IN SHARE MODE")
}

/// The first events of each partition that have not left, with the position of the partition in `partitions`.
pub(super) fn not_left(table: &str, partitions: &[&Partition], limit: u32) -> String {
    let each: Vec<_> = partitions
        .iter()
        .enumerate()
        .map(|(position, (topic, key))| {
            let (topic, key) = (bytes(topic), bytes(key));
            format!(
                "(SELECT {position} AS position, seq FROM {table} WHERE topic = {topic} AND partition_key = {key} AND live = 1 \
                 ORDER BY seq LIMIT {limit})"
            )
        })
        .collect();
    each.join(" UNION ALL ")
}

/// Locks what is in front of others, unless somebody else has.
pub(super) fn lock(table: &str, seqs: &str) -> String {
    format!("SELECT seq FROM {table} WHERE seq IN ({seqs}) AND live = 1 FOR UPDATE SKIP LOCKED")
}

pub(super) fn put_aside(table: &str, state: i16, seqs: &str) -> String {
    format!(
        "UPDATE {table} SET state = {state}, due_at = NULL, claim_token = NULL WHERE seq IN ({seqs})"
    )
}

pub(super) fn claim(table: &str, seqs: &str) -> String {
    format!(
        "UPDATE {table} SET due_at = {NOW} + ?, claim_token = ?, attempts = attempts + 1 WHERE seq IN ({seqs})"
    )
}

pub(super) fn read(table: &str, seqs: &str) -> String {
    format!(
        "SELECT seq, attempts, appended_at, id, topic, partition_key, event_type, source, subject, content_type, \
         traceparent, tracestate, headers, payload FROM {table} WHERE seq IN ({seqs}) ORDER BY seq"
    )
}

/// Locks claimed events, and shows whose they are.
pub(super) fn owners(table: &str, seqs: &str) -> String {
    format!(
        "SELECT seq, claim_token FROM {table} WHERE seq IN ({seqs}) AND claim_token IS NOT NULL ORDER BY seq FOR UPDATE"
    )
}

pub(super) fn delete(table: &str, seqs: &str) -> String {
    format!("DELETE FROM {table} WHERE seq IN ({seqs})")
}

pub(super) fn keep(table: &str, seqs: &str) -> String {
    format!(
        "UPDATE {table} SET state = 1, settled_at = {NOW}, due_at = NULL, claim_token = NULL, last_error = NULL \
         WHERE seq IN ({seqs})"
    )
}

/// `wait` is in microseconds.
pub(super) fn release(table: &str, wait: i64, seqs: &str) -> String {
    format!(
        "UPDATE {table} SET due_at = {NOW} + {wait}, claim_token = NULL, attempts = attempts - 1 WHERE seq IN ({seqs})"
    )
}

pub(super) fn bury(table: &str) -> String {
    format!(
        "UPDATE {table} SET state = 2, settled_at = {NOW}, due_at = NULL, claim_token = NULL, last_error = ? WHERE seq = ?"
    )
}

pub(super) fn retry(table: &str) -> String {
    format!(
        "UPDATE {table} SET last_error = ?, due_at = {NOW} + ?, claim_token = NULL WHERE seq = ?"
    )
}

/// The first events of a partition that have not left.
pub(super) fn first(table: &str) -> String {
    format!(
        "SELECT seq, state FROM {table} WHERE topic = ? AND partition_key = ? AND live = 1 ORDER BY seq LIMIT {PROMOTED}"
    )
}

pub(super) fn promote(table: &str, seqs: &str) -> String {
    format!("UPDATE {table} SET state = 0, due_at = {NOW} WHERE seq IN ({seqs}) AND state = 3")
}

pub(super) fn revive(table: &str, state: i16, selection: &Selection) -> String {
    let chosen = match selection {
        Selection::Id(_) => "id = ?",
        Selection::Topic(_) => "topic = ?",
        Selection::Between(..) => "appended_at >= ? AND appended_at < ?",
    };
    format!(
        "UPDATE {table} SET state = 0, due_at = {NOW}, settled_at = NULL, attempts = 0 WHERE state = {state} AND {chosen}"
    )
}

pub(super) fn pause(table: &str) -> String {
    format!(
        "INSERT INTO {table}_paused (topic, paused_at) VALUES (?, {NOW}) ON DUPLICATE KEY UPDATE topic = topic"
    )
}

pub(super) fn unpause(table: &str) -> String {
    format!("DELETE FROM {table}_paused WHERE topic = ?")
}

pub(super) fn resume(table: &str) -> String {
    format!(
        "UPDATE {table} SET state = 0, due_at = {NOW} WHERE state = 4 AND topic = ? ORDER BY seq LIMIT ?"
    )
}

pub(super) fn purge(table: &str) -> String {
    format!(
        "DELETE FROM {table} WHERE state = ? AND settled_at <= {NOW} - ? ORDER BY settled_at LIMIT ?"
    )
}

/// When the age of an event begins: with its append, or with the time for which it was appended.
#[cfg(any(feature = "metrics", feature = "operate"))]
const SINCE: &str = "greatest(appended_at, coalesce(deliver_at, 0))";

/// Counts what is pending and what is dead, and measures the age of the oldest event that is due, was tried or is being
/// tried. Each part reads a range of an index, and no more rows than it says.
#[cfg(any(feature = "metrics", feature = "operate"))]
pub(super) fn sample(table: &str) -> String {
    format!(
        "SELECT (SELECT count(*) FROM (SELECT 1 FROM {table} WHERE state = 0 LIMIT {COUNTED}) AS pending), \
         (SELECT count(*) FROM (SELECT 1 FROM {table} WHERE state = 2 LIMIT {COUNTED}) AS dead), \
         (SELECT {NOW} - MIN(since) FROM (SELECT {SINCE} AS since, due_at, attempts, claim_token FROM {table} \
         WHERE state = 0 ORDER BY due_at, seq LIMIT {SEARCHED}) AS due \
         WHERE due_at <= {NOW} OR attempts > 0 OR claim_token IS NOT NULL)"
    )
}

/// A text as its bytes.
fn bytes(text: &str) -> String {
    let mut literal = String::from("x'");
    for byte in text.bytes() {
        let _ = write!(literal, "{byte:02x}");
    }
    literal.push('\'');
    literal
}

/// One row for each reason why the table is unfit. The values are the schema (or NULL) and the name, in turn.
pub(super) const UNFIT: &str = "\
WITH w AS (SELECT coalesce(?, DATABASE()) AS s, ? AS n),
     o AS (SELECT t.table_name, t.engine FROM information_schema.tables t JOIN w ON t.table_schema = w.s AND t.table_name = w.n),
     i AS (SELECT x.index_name, min(x.non_unique) AS twice,
                  group_concat(x.column_name ORDER BY x.seq_in_index) AS columns
             FROM information_schema.statistics x JOIN w ON x.table_schema = w.s AND x.table_name = w.n
            GROUP BY x.index_name)
SELECT 'there is no such table' FROM w WHERE NOT EXISTS (SELECT 1 FROM o)
UNION ALL SELECT 'its engine is not InnoDB' FROM o WHERE engine <> 'InnoDB'
UNION ALL SELECT 'it has no unique index on exactly (id)' FROM o
    WHERE NOT EXISTS (SELECT 1 FROM i WHERE twice = 0 AND columns = 'id')
UNION ALL SELECT 'its primary key is not exactly (seq)' FROM o
    WHERE NOT EXISTS (SELECT 1 FROM i WHERE index_name = 'PRIMARY' AND columns = 'seq')
UNION ALL SELECT 'seq is not AUTO_INCREMENT' FROM o
    WHERE NOT EXISTS (SELECT 1 FROM information_schema.columns c JOIN w ON c.table_schema = w.s AND c.table_name = w.n
                       WHERE c.column_name = 'seq' AND c.extra LIKE '%auto_increment%')
UNION ALL SELECT 'it has no index on (state, due_at, seq): a claim would read the whole table' FROM o
    WHERE NOT EXISTS (SELECT 1 FROM i WHERE columns LIKE 'state,due_at,seq%')
UNION ALL SELECT 'it has no index on (topic, partition_key, live, seq) for the events that have not left' FROM o
    WHERE NOT EXISTS (SELECT 1 FROM i WHERE columns LIKE 'topic,partition_key,live,seq%')
UNION ALL SELECT 'there is no table of the paused topics beside it' FROM w
    WHERE NOT EXISTS (SELECT 1 FROM information_schema.tables t WHERE t.table_schema = w.s AND t.table_name = concat(w.n, '_paused'))
UNION ALL SELECT 'there is no table of the locks beside it' FROM w
    WHERE NOT EXISTS (SELECT 1 FROM information_schema.tables t WHERE t.table_schema = w.s AND t.table_name = concat(w.n, '_lock'))";
