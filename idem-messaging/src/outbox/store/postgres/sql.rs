//! The statements for PostgreSQL.
//!
//! Those of the relay are one message each, with the values in their text, so that they work behind a pooler in
//! transaction mode, and so that BEGIN and COMMIT cost no round trip. Only integers, UUIDs and hexadecimal digits are
//! spliced. `statement_timestamp()` is the time at which the message came: `clock_timestamp()` is volatile and could not
//! bound an index scan, and `now()` is the time of BEGIN.

use std::fmt::Write as _;
use std::time::Duration;

#[cfg(any(feature = "metrics", feature = "operate"))]
use crate::outbox::store::{COUNTED, SEARCHED};
use crate::outbox::store::{PROMOTED, Selection, Settled, Settlement, micros};

/// What a transaction of the relay begins with, whatever the session's defaults. A claim needs a snapshot for each
/// statement.
pub(super) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;\n";

/// A claim and a settlement never read the whole table, whatever the planner last knew of its size: an outbox grows from
/// nothing to a million between two runs of ANALYZE. Nor do they collect a whole partition by bitmap for the sake of its
/// first event. Nor are they compiled: that takes longer than they do. Bytes come as the driver reads them, whatever the
/// session's default. The settings end with the transaction; the row that answers is no answer of theirs.
pub(super) const BY_INDEX: &str = "SELECT set_config('enable_seqscan', 'off', true) AS unread, \
     set_config('enable_bitmapscan', 'off', true), set_config('jit', 'off', true), \
     set_config('bytea_output', 'hex', true);\n";

/// What an event gives up that is not ready, or not pending, any more.
pub(super) const UNREADY: &str =
    "queued_xid = '18446744073709551615', lease_ends_at = NULL, claim_token = NULL";

/// The events that a claim reads by the number of the transaction that made them ready, as the index has it.
pub(super) const READY: &str = "state = 0 AND queued_xid <> '18446744073709551615'";

/// The pending events that are read by the time at which they are due, as the index has it.
pub(super) const LATER: &str = "state = 0 AND queued_xid = '18446744073709551615'";

/// The number of the transaction, given to an event that becomes ready.
pub(super) const NUMBER: &str = "pg_current_xact_id()";

/// Whether the transaction has a number. It gets one by its first write; that of a statement outside of any block has none
/// before it.
const HAS_NUMBER: &str = "pg_current_xact_id_if_assigned() IS NOT NULL";

/// Gives the transaction its number, as its first write would.
pub(super) const NUMBER_TRANSACTION: &str = "SELECT pg_current_xact_id()::text";

pub(super) fn in_transaction() -> String {
    format!("SELECT {HAS_NUMBER}")
}

/// The columns of every event, and their parameters.
const COLUMNS: &str = "partition_hash, id, topic, partition_key, event_type, source, subject, content_type, traceparent, \
     tracestate, headers, payload";
const VALUES: &str =
    "hashtextextended($2, hashtextextended($3, 0)), $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11";

/// Inserts an event that is ready at once, and nothing in a transaction that has not written before, which may be that of
/// this statement alone.
///
/// None of its functions is volatile: PostgreSQL would then execute the SELECT as a query of its own.
pub(super) fn insert_ready(table: &str) -> String {
    format!(
        "INSERT INTO {table} (appended_at, due_at, queued_xid, {COLUMNS}) \
         SELECT statement_timestamp(), statement_timestamp(), {NUMBER}, {VALUES} \
         WHERE {HAS_NUMBER} ON CONFLICT (id) DO NOTHING"
    )
}

/// The same of an event that is due later: `$12` is the time in microseconds or NULL for this moment, `$13` the
/// microseconds after it.
pub(super) fn insert_later(table: &str) -> String {
    format!(
        "INSERT INTO {table} (appended_at, due_at, deliver_at, {COLUMNS}) \
         SELECT statement_timestamp(), due.at, due.at, {VALUES} FROM (SELECT \
         coalesce('epoch'::timestamptz + $12 * interval '1 microsecond', statement_timestamp()) \
         + $13 * interval '1 microsecond') due(at) \
         WHERE {HAS_NUMBER} ON CONFLICT (id) DO NOTHING"
    )
}

/// `$1` is the number of the lock, made of table, topic and partition key.
pub(super) const LOCK_PARTITION: &str = "SELECT pg_advisory_xact_lock($1)";

/// The events of a partition that have not left and have a `chosen` number. The names must be bound to a row, and to a row
/// `p` of the partition. The index has the numbers, so that entries of others are passed over without their rows.
pub(super) fn of_partition(alias: &str, chosen: &str) -> String {
    format!(
        "{alias}.partition_hash = p.partition_hash AND {alias}.queued_xid {chosen} \
         AND {alias}.topic = p.topic AND {alias}.partition_key = p.partition_key AND {alias}.state IN (0, 3, 4)"
    )
}

/// Each statement returns `seq` and token of the events that still carried it.
pub(super) fn settle(table: &str, settlements: &[Settlement], keep: bool, floor: u64) -> String {
    let mut text = format!("{BEGIN}{BY_INDEX}");
    let rows = |chosen: &dyn Fn(&Settled) -> Option<String>| {
        let rows: Vec<_> = settlements
            .iter()
            .filter_map(|s| {
                let more = chosen(&s.outcome)?;
                Some(format!("({}::bigint, '{}'::uuid{more})", s.seq, s.token))
            })
            .collect();
        (!rows.is_empty()).then(|| rows.join(", "))
    };
    let fenced = "t.seq = v.seq AND t.claim_token = v.token RETURNING t.seq, v.token;\n";
    let mut push = |statement: &str, columns: &str, values: Option<String>| {
        if let Some(values) = values {
            let from = if statement.starts_with("DELETE") {
                "USING"
            } else {
                "FROM"
            };
            let _ = writeln!(
                text,
                "{statement} {from} (VALUES {values}) v(seq, token{columns}) WHERE {fenced}"
            );
        }
    };
    let published = rows(&|outcome| matches!(outcome, Settled::Published).then(String::new));
    if keep {
        push(
            &format!(
                "UPDATE {table} t SET state = 1, settled_at = statement_timestamp(), {UNREADY}, \
                 last_error = NULL"
            ),
            "",
            published,
        );
    } else {
        push(&format!("DELETE FROM {table} t"), "", published);
    }
    push(
        &format!(
            "UPDATE {table} t SET state = 2, settled_at = statement_timestamp(), {UNREADY}, \
             last_error = v.error"
        ),
        ", error",
        rows(&|outcome| match outcome {
            Settled::Dead { error } => Some(format!(", {}", text_of(error))),
            _ => None,
        }),
    );
    push(
        &format!(
            "UPDATE {table} t SET due_at = statement_timestamp() + v.wait * interval '1 microsecond', {UNREADY}, \
             last_error = v.error"
        ),
        ", wait, error",
        rows(&|outcome| match outcome {
            Settled::Retry { after, error } => {
                Some(format!(", {}::bigint, {}", micros(*after), text_of(error)))
            }
            _ => None,
        }),
    );
    push(
        &format!(
            "UPDATE {table} t SET due_at = statement_timestamp() + v.wait * interval '1 microsecond', {UNREADY}, \
             attempts = attempts - 1"
        ),
        ", wait",
        rows(&|outcome| match outcome {
            Settled::Released { after } => Some(format!(", {}::bigint", micros(*after))),
            _ => None,
        }),
    );
    text.push_str(&promote(table, settlements, floor));
    text.push_str("COMMIT");
    text
}

/// Makes the first waiting events of a partition pending, if the events in front of them have left. It must be a
/// statement after the one that let them leave: the module of the stores says why.
///
/// It looks at the events from `floor` on, and what waits is always among them. If an event in front is not, those behind
/// become pending early, and the next claim puts them back.
fn promote(table: &str, settlements: &[Settlement], floor: u64) -> String {
    let mut partitions: Vec<_> = settlements
        .iter()
        .filter(|s| s.outcome.leaves())
        .filter_map(|s| s.partition.as_ref())
        .collect();
    partitions.sort_unstable();
    partitions.dedup();
    if partitions.is_empty() {
        return String::new();
    }
    let values: Vec<_> = partitions
        .iter()
        .map(|(topic, key)| format!("({}, {})", text_of(topic), text_of(key)))
        .collect();
    let chosen = format!(">= '{floor}'");
    let (first, next) = (of_partition("h", &chosen), of_partition("w", &chosen));
    let values = values.join(", ");
    format!(
        "UPDATE {table} SET state = 0, due_at = statement_timestamp(), queued_xid = {NUMBER} WHERE state = 3 AND seq IN (
    SELECT w.seq FROM (SELECT hashtextextended(topic, hashtextextended(partition_key, 0)) AS partition_hash, v.*
        FROM (VALUES {values}) v(topic, partition_key)) p
     CROSS JOIN LATERAL (SELECT h.state FROM {table} h WHERE {first} ORDER BY h.seq LIMIT 1) h
     CROSS JOIN LATERAL (SELECT w.seq, w.state FROM {table} w WHERE {next} ORDER BY w.seq LIMIT {PROMOTED}) w
     WHERE h.state = 3 AND w.state = 3);\n"
    )
}

pub(super) fn revive(table: &str, state: i16, selection: &Selection) -> String {
    let chosen = match selection {
        Selection::Id(id) => format!("id = {}", text_of(id)),
        Selection::Topic(topic) => format!("topic = {}", text_of(topic)),
        Selection::Between(from, to) => format!(
            "appended_at >= 'epoch'::timestamptz + {} * interval '1 microsecond' \
             AND appended_at < 'epoch'::timestamptz + {} * interval '1 microsecond'",
            from.as_micros(),
            to.as_micros()
        ),
    };
    format!(
        "{BEGIN}UPDATE {table} SET state = 0, due_at = statement_timestamp(), queued_xid = {NUMBER}, settled_at = NULL, attempts = 0 \
         WHERE state = {state} AND {chosen} RETURNING seq; {}COMMIT",
        notify(table)
    )
}

pub(super) fn pause(table: &str, topic: &str) -> String {
    format!(
        "{BEGIN}INSERT INTO {table}_paused (topic) VALUES ({}) ON CONFLICT (topic) DO NOTHING; COMMIT",
        text_of(topic)
    )
}

/// A claim holds an event only under a lock on the topic's row, so none is held after the DELETE that the UPDATE does
/// not see.
pub(super) fn resume(table: &str, topic: &str, limit: u32) -> String {
    let topic = text_of(topic);
    format!(
        "{BEGIN}DELETE FROM {table}_paused WHERE topic = {topic};
UPDATE {table} SET state = 0, due_at = statement_timestamp(), queued_xid = {NUMBER} WHERE state = 4 AND seq IN (
    SELECT seq FROM {table} WHERE state = 4 AND topic = {topic} ORDER BY seq LIMIT {limit} FOR UPDATE) RETURNING seq;
{}COMMIT",
        notify(table)
    )
}

/// Wakes the relays that listen, if appends do so. The trigger is on INSERT: one on UPDATE would fire for each claim.
pub(in crate::outbox) fn notify(table: &str) -> String {
    format!(
        "SELECT pg_notify(concat('idem:outbox:', n.number), '') AS unread \
         FROM (SELECT to_regclass('{table}')::oid) n(number) WHERE {HAS_TRIGGER};\n"
    )
}

pub(super) fn purge(table: &str, state: i16, retention: Duration, limit: u32) -> String {
    format!(
        "{BEGIN}DELETE FROM {table} WHERE state = {state} AND seq IN (SELECT seq FROM {table} \
         WHERE state = {state} AND settled_at <= statement_timestamp() - {} * interval '1 microsecond' \
         ORDER BY settled_at LIMIT {limit} FOR UPDATE SKIP LOCKED) RETURNING seq; COMMIT",
        micros(retention)
    )
}

/// When the age of an event begins: with its append, or with the time for which it was appended.
#[cfg(any(feature = "metrics", feature = "operate"))]
const SINCE: &str = "greatest(appended_at, deliver_at)";

/// Counts what is pending and what is dead, and measures the age of the oldest event that is due, was tried or is being
/// tried. Each part reads a range of an index, and no more rows than it says.
#[cfg(any(feature = "metrics", feature = "operate"))]
pub(super) fn sample(table: &str) -> String {
    format!(
        "SELECT (SELECT count(*) FROM ((SELECT 1 FROM {table} WHERE {READY} LIMIT {COUNTED}) \
         UNION ALL (SELECT 1 FROM {table} WHERE {LATER} LIMIT {COUNTED}) LIMIT {COUNTED}) AS pending), \
         (SELECT count(*) FROM (SELECT 1 FROM {table} WHERE state = 2 LIMIT {COUNTED}) AS dead), \
         (SELECT (extract(epoch FROM clock_timestamp() - min(since)) * 1000000)::bigint FROM ( \
         (SELECT {SINCE} AS since FROM {table} WHERE {READY} ORDER BY queued_xid, seq LIMIT {SEARCHED}) UNION ALL \
         (SELECT since FROM (SELECT {SINCE} AS since, due_at, attempts FROM {table} WHERE {LATER} \
         ORDER BY due_at, seq LIMIT {SEARCHED}) AS later \
         WHERE due_at <= statement_timestamp() OR attempts > 0)) AS due)"
    )
}

/// A text as an expression that means the same whatever `standard_conforming_strings` and `client_encoding` are.
fn text_of(text: &str) -> String {
    let mut digits = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        let _ = write!(digits, "{byte:02x}");
    }
    format!("convert_from(decode('{digits}', 'hex'), 'UTF8')")
}

/// Whether a trigger of the optional migration is on the table `n.number`.
const HAS_TRIGGER: &str = "\
EXISTS (SELECT FROM pg_trigger g JOIN pg_proc f ON f.oid = g.tgfoid
    WHERE g.tgrelid = n.number AND g.tgenabled <> 'D' AND f.prosrc LIKE '%idem:outbox:%')";

/// The number of the table `$1`, and whether such a trigger is on it.
pub(super) fn notified() -> String {
    format!("SELECT n.number::bigint, {HAS_TRIGGER} FROM (SELECT to_regclass($1)::oid) n(number)")
}

/// One row for each reason why the table is unfit. `$1` is the table's name.
pub(super) const UNFIT: &str = "\
WITH o AS (SELECT c.oid, c.relpersistence, c.relkind FROM pg_class c WHERE c.oid = to_regclass($1)),
     i AS (SELECT x.indisunique AND x.indisvalid AND x.indimmediate AND x.indpred IS NULL AS arbiter,
                  x.indisvalid AS valid, x.indpred IS NOT NULL AS partial, x.indnkeyatts AS keys,
                  (SELECT array_agg(a.attname::text ORDER BY k.place)
                     FROM unnest(x.indkey::int2[]) WITH ORDINALITY k(attnum, place)
                     JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.attnum
                    WHERE k.place <= x.indnkeyatts) AS columns
             FROM pg_index x JOIN o ON x.indrelid = o.oid)
SELECT 'there is no such table' WHERE NOT EXISTS (SELECT FROM o)
UNION ALL SELECT 'it is not an ordinary, logged table' FROM o WHERE relpersistence <> 'p' OR relkind <> 'r'
UNION ALL SELECT 'it has no unique index on exactly (id), valid and immediate' FROM o
    WHERE NOT EXISTS (SELECT FROM i WHERE arbiter AND columns = '{id}')
UNION ALL SELECT 'it has no unique index on exactly (seq), valid and immediate' FROM o
    WHERE NOT EXISTS (SELECT FROM i WHERE arbiter AND columns = '{seq}')
UNION ALL SELECT 'the sequence of seq has a cache, so that appends are not numbered in their order' FROM o
    WHERE EXISTS (SELECT FROM pg_sequence s
        WHERE s.seqrelid = pg_get_serial_sequence(o.oid::regclass::text, 'seq')::regclass AND (s.seqcache > 1 OR s.seqcycle OR s.seqincrement < 1))
UNION ALL SELECT 'seq is not numbered by a sequence of the table' FROM o WHERE pg_get_serial_sequence(o.oid::regclass::text, 'seq') IS NULL
UNION ALL SELECT 'it has no valid index on (queued_xid, seq) for the events that are ready: a claim would read the whole table' FROM o
    WHERE NOT EXISTS (SELECT FROM i WHERE valid AND columns[1:2] = '{queued_xid,seq}')
UNION ALL SELECT 'it has no valid index on (due_at, seq) for the events that become due: a claim would read the whole table' FROM o
    WHERE NOT EXISTS (SELECT FROM i WHERE valid AND columns[1:2] = '{due_at,seq}')
UNION ALL SELECT 'it has no valid index on (partition_hash, seq, queued_xid) for the events that have not left' FROM o
    WHERE NOT EXISTS (SELECT FROM i WHERE valid AND partial AND columns[1:3] = '{partition_hash,seq,queued_xid}')
UNION ALL SELECT 'there is no table of the paused topics beside it' WHERE to_regclass($1 || '_paused') IS NULL";
