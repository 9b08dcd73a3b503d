//! The statements for SQLite. Only integers are spliced.

#[cfg(any(feature = "metrics", feature = "operate"))]
use crate::outbox::store::{COUNTED, SEARCHED};
use crate::outbox::store::{PROMOTED, Selection};

/// Microseconds since the epoch, by the database's clock (to the millisecond: SQLite knows no finer time).
pub(super) const NOW: &str =
    "CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) * 1000";

/// The savepoint is never released: in a transaction it ends with it, and outside of any it begins one, which is undone
/// unless the caller commits it. SQLite cannot be asked whether there is a transaction.
pub(super) fn insert(table: &str) -> String {
    format!(
        "SAVEPOINT idem_outbox_append; INSERT INTO {table} (appended_at, due_at, deliver_at, id, topic, partition_key, event_type, source, subject, content_type, \
         traceparent, tracestate, headers, payload) \
         VALUES ({NOW}, coalesce(?1, {NOW}) + ?2, CASE WHEN ?1 IS NOT NULL OR ?2 <> 0 THEN coalesce(?1, {NOW}) + ?2 END, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) \
         ON CONFLICT (id) DO NOTHING RETURNING 1"
    )
}

/// Whether anything is due: it takes no write lock.
pub(super) fn is_due(table: &str) -> String {
    format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE state = 0 AND due_at <= {NOW})")
}

pub(super) fn due(table: &str) -> String {
    format!(
        "SELECT seq, topic, partition_key FROM {table} WHERE state = 0 AND due_at <= {NOW} ORDER BY due_at, seq LIMIT ?1"
    )
}

pub(super) fn paused(table: &str) -> String {
    format!("SELECT topic FROM {table}_paused")
}

/// The first events of a partition that have not left.
pub(super) fn not_left(table: &str) -> String {
    format!(
        "SELECT seq FROM {table} WHERE topic = ?1 AND partition_key = ?2 AND partition_key IS NOT NULL \
         AND state IN (0, 3, 4) ORDER BY seq LIMIT ?3"
    )
}

pub(super) fn put_aside(table: &str, state: i16, seqs: &str) -> String {
    format!(
        "UPDATE {table} SET state = {state}, due_at = NULL, claim_token = NULL WHERE seq IN ({seqs})"
    )
}

pub(super) fn claim(table: &str, seqs: &str) -> String {
    format!(
        "UPDATE {table} SET due_at = {NOW} + ?1, claim_token = ?2, attempts = attempts + 1 WHERE seq IN ({seqs}) \
         RETURNING seq, attempts, appended_at, id, topic, partition_key, event_type, source, subject, content_type, \
         traceparent, tracestate, headers, payload"
    )
}

/// `?1` and `?2` are `seq` and token in all of these.
pub(super) fn delete(table: &str) -> String {
    format!("DELETE FROM {table} WHERE seq = ?1 AND claim_token = ?2")
}

pub(super) fn keep(table: &str) -> String {
    format!(
        "UPDATE {table} SET state = 1, settled_at = {NOW}, due_at = NULL, claim_token = NULL, last_error = NULL \
         WHERE seq = ?1 AND claim_token = ?2"
    )
}

pub(super) fn bury(table: &str) -> String {
    format!(
        "UPDATE {table} SET state = 2, settled_at = {NOW}, due_at = NULL, claim_token = NULL, last_error = ?3 \
         WHERE seq = ?1 AND claim_token = ?2"
    )
}

pub(super) fn retry(table: &str) -> String {
    format!(
        "UPDATE {table} SET due_at = {NOW} + ?4, claim_token = NULL, last_error = ?3 WHERE seq = ?1 AND claim_token = ?2"
    )
}

pub(super) fn release(table: &str) -> String {
    format!(
        "UPDATE {table} SET due_at = {NOW} + ?3, claim_token = NULL, attempts = attempts - 1 \
         WHERE seq = ?1 AND claim_token = ?2"
    )
}

/// Makes the first waiting events of a partition pending, if the events in front of them have left.
pub(super) fn promote(table: &str) -> String {
    let of_partition =
        "topic = ?1 AND partition_key = ?2 AND partition_key IS NOT NULL AND state IN (0, 3, 4)";
    format!(
        "UPDATE {table} SET state = 0, due_at = {NOW} WHERE state = 3 \
         AND seq IN (SELECT seq FROM {table} WHERE {of_partition} ORDER BY seq LIMIT {PROMOTED}) \
         AND 3 = (SELECT state FROM {table} WHERE {of_partition} ORDER BY seq LIMIT 1)"
    )
}

/// `?1` is the id or the topic; of a range, `?1` and `?2` are its ends.
pub(super) fn revive(table: &str, state: i16, selection: &Selection) -> String {
    let chosen = match selection {
        Selection::Id(_) => "id = ?1",
        Selection::Topic(_) => "topic = ?1",
        Selection::Between(..) => "appended_at >= ?1 AND appended_at < ?2",
    };
    format!(
        "UPDATE {table} SET state = 0, due_at = {NOW}, settled_at = NULL, attempts = 0 WHERE state = {state} AND {chosen}"
    )
}

pub(super) fn pause(table: &str) -> String {
    format!(
        "INSERT INTO {table}_paused (topic, paused_at) VALUES (?1, {NOW}) ON CONFLICT (topic) DO NOTHING"
    )
}

pub(super) fn unpause(table: &str) -> String {
    format!("DELETE FROM {table}_paused WHERE topic = ?1")
}

pub(super) fn resume(table: &str) -> String {
    format!(
        "UPDATE {table} SET state = 0, due_at = {NOW} WHERE state = 4 AND seq IN \
         (SELECT seq FROM {table} WHERE state = 4 AND topic = ?1 ORDER BY seq LIMIT ?2)"
    )
}

pub(super) fn purge(table: &str) -> String {
    format!(
        "DELETE FROM {table} WHERE seq IN (SELECT seq FROM {table} WHERE state = ?1 AND state IN (1, 2) \
         AND settled_at <= {NOW} - ?2 ORDER BY settled_at LIMIT ?3)"
    )
}

/// When the age of an event begins: with its append, or with the time for which it was appended.
#[cfg(any(feature = "metrics", feature = "operate"))]
const SINCE: &str = "max(appended_at, coalesce(deliver_at, 0))";

/// Counts what is pending and what is dead, and measures the age of the oldest event that is due, was tried or is being
/// tried. Each part reads a range of an index, and no more rows than it says.
#[cfg(any(feature = "metrics", feature = "operate"))]
pub(super) fn sample(table: &str) -> String {
    format!(
        "SELECT (SELECT count(*) FROM (SELECT 1 FROM {table} WHERE state = 0 LIMIT {COUNTED}) AS pending), \
         (SELECT count(*) FROM (SELECT 1 FROM {table} WHERE state = 2 AND state IN (1, 2) LIMIT {COUNTED}) AS dead), \
         (SELECT {NOW} - min(since) FROM (SELECT {SINCE} AS since, due_at, attempts, claim_token FROM {table} \
         WHERE state = 0 ORDER BY due_at, seq LIMIT {SEARCHED}) AS due \
         WHERE due_at <= {NOW} OR attempts > 0 OR claim_token IS NOT NULL)"
    )
}

/// One row for each reason why the table is unfit. `?1` is its schema, `?2` its name.
pub(super) const UNFIT: &str = "\
WITH o AS (SELECT name, sql FROM pragma_table_list t JOIN sqlite_master USING (name)
            WHERE t.schema = 'main' AND name = ?1 AND sqlite_master.type = 'table'),
     i AS (SELECT l.\"unique\" AS one, l.partial,
                  (SELECT group_concat(x.name) FROM (SELECT name FROM pragma_index_info(l.name) ORDER BY seqno) x) AS columns
             FROM o, pragma_index_list(o.name) l)
SELECT 'there is no such table in the main database' WHERE NOT EXISTS (SELECT 1 FROM o)
UNION ALL SELECT 'seq is not INTEGER PRIMARY KEY AUTOINCREMENT, so that a number may be given twice' FROM o
    WHERE sql NOT LIKE '%seq%INTEGER PRIMARY KEY AUTOINCREMENT%'
UNION ALL SELECT 'it has an ON CONFLICT clause of its own' FROM o WHERE sql LIKE '%ON CONFLICT%'
UNION ALL SELECT 'it has no unique index on exactly (id)' FROM o
    WHERE NOT EXISTS (SELECT 1 FROM i WHERE one AND NOT partial AND columns = 'id')
UNION ALL SELECT 'it has no index on (due_at, seq) for the pending events: a claim would read the whole table' FROM o
    WHERE NOT EXISTS (SELECT 1 FROM i WHERE columns LIKE 'due_at,seq%')
UNION ALL SELECT 'it has no index on (topic, partition_key, seq) for the events that have not left' FROM o
    WHERE NOT EXISTS (SELECT 1 FROM i WHERE partial AND columns LIKE 'topic,partition_key,seq%')
UNION ALL SELECT 'there is no table of the paused topics beside it'
    WHERE NOT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1 || '_paused')";
