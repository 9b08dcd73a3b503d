//! The statements for PostgreSQL.
//!
//! Those of the relay are one message each, with the values in their text, so that they work behind a pooler in
//! transaction mode, and so that BEGIN and COMMIT cost no round trip. Only integers, UUIDs and hexadecimal digits are
//! spliced. `statement_timestamp()` is the time at which the message came: `clock_timestamp()` is volatile and could not
//! bound an index scan, and `now()` is the time of BEGIN.

use std::fmt::Write as _;
use std::time::Duration;

use crate::outbox::store::{ClaimRequest, PROMOTED, Selection, Settled, Settlement, micros};

/// What a transaction of the relay begins with, whatever the session's defaults. A claim needs a snapshot for each
/// statement.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;\n";

/// A claim never reads the whole table, whatever the planner last knew of its size: an outbox grows from nothing to a
/// million between two runs of ANALYZE. The setting ends with the transaction.
const BY_INDEX: &str = "SET LOCAL enable_seqscan = off;\n";

pub(super) fn insert(table: &str) -> String {
    format!(
        "INSERT INTO {table} (appended_at, due_at, id, topic, partition_key, event_type, source, subject, content_type, \
         traceparent, tracestate, headers, payload) \
         SELECT clock_timestamp(), \
         coalesce('epoch'::timestamptz + $1 * interval '1 microsecond', clock_timestamp()) + $2 * interval '1 microsecond', \
         $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 \
         ON CONFLICT (id) DO NOTHING"
    )
}

/// `$1` is the number of the lock, made of table, topic and partition key.
pub(super) const LOCK_PARTITION: &str = "SELECT pg_advisory_xact_lock($1)";

/// The events of a partition that have not left; both names must be bound to a row `p`.
fn of_partition(alias: &str) -> String {
    format!(
        "{alias}.topic = p.topic AND {alias}.partition_key = p.partition_key AND {alias}.partition_key IS NOT NULL \
         AND {alias}.state IN (0, 3, 4)"
    )
}

pub(super) fn claim(table: &str, request: ClaimRequest) -> String {
    let ClaimRequest {
        limit,
        lease,
        token,
    } = request;
    let (lease, of_partition) = (micros(lease), of_partition("e"));
    format!(
        "{BEGIN}{BY_INDEX}\
WITH due AS MATERIALIZED (
    SELECT seq, topic, partition_key FROM {table}
     WHERE state = 0 AND due_at <= statement_timestamp()
     ORDER BY due_at, seq LIMIT {limit} FOR UPDATE SKIP LOCKED
), paused AS MATERIALIZED (
    SELECT topic FROM {table}_paused WHERE topic IN (SELECT topic FROM due) FOR SHARE SKIP LOCKED
), front AS MATERIALIZED (
    SELECT p.topic, p.partition_key, f.seq
      FROM (SELECT DISTINCT topic, partition_key FROM due WHERE partition_key IS NOT NULL) p
     CROSS JOIN LATERAL (
        SELECT e.seq FROM {table} e
         WHERE {of_partition} AND e.seq NOT IN (SELECT seq FROM due)
         ORDER BY e.seq LIMIT 1) f
), verdict AS MATERIALIZED (
    SELECT d.seq, f.seq AS front, coalesce(f.seq < d.seq, false) AS waits,
           d.topic IN (SELECT topic FROM paused) AS held
      FROM due d LEFT JOIN front f ON f.topic = d.topic AND f.partition_key = d.partition_key
), locked AS MATERIALIZED (
    SELECT seq FROM {table}
     WHERE seq IN (SELECT front FROM verdict WHERE waits AND NOT held) AND state IN (0, 3, 4)
       FOR SHARE SKIP LOCKED
), waiting AS (
    UPDATE {table} t SET state = 3, due_at = NULL, claim_token = NULL FROM verdict v
     WHERE t.seq = v.seq AND v.waits AND NOT v.held AND v.front IN (SELECT seq FROM locked) RETURNING 1
), held AS (
    UPDATE {table} t SET state = 4, due_at = NULL, claim_token = NULL FROM verdict v
     WHERE t.seq = v.seq AND v.held RETURNING 1
), claimed AS (
    UPDATE {table} t SET due_at = statement_timestamp() + {lease} * interval '1 microsecond',
           claim_token = '{token}', attempts = attempts + 1
      FROM verdict v WHERE t.seq = v.seq AND NOT v.waits AND NOT v.held
    RETURNING t.seq, t.attempts, (extract(epoch FROM t.appended_at) * 1000000)::bigint AS appended_at, t.id, t.topic,
              t.partition_key, t.event_type, t.source, t.subject, t.content_type, t.traceparent, t.tracestate, t.headers,
              t.payload
)
SELECT (SELECT count(*) FROM waiting) + (SELECT count(*) FROM held) AS put_aside, c.*
  FROM (SELECT) one LEFT JOIN claimed c ON true ORDER BY c.seq;
COMMIT"
    )
}

/// Each statement returns `seq` and token of the events that still carried it.
pub(super) fn settle(table: &str, settlements: &[Settlement], keep: bool) -> String {
    let mut text = BEGIN.to_owned();
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
                "UPDATE {table} t SET state = 1, settled_at = statement_timestamp(), due_at = NULL, claim_token = NULL, \
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
            "UPDATE {table} t SET state = 2, settled_at = statement_timestamp(), due_at = NULL, claim_token = NULL, \
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
            "UPDATE {table} t SET due_at = statement_timestamp() + v.wait * interval '1 microsecond', claim_token = NULL, \
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
            "UPDATE {table} t SET due_at = statement_timestamp() + v.wait * interval '1 microsecond', claim_token = NULL, \
             attempts = attempts - 1"
        ),
        ", wait",
        rows(&|outcome| match outcome {
            Settled::Released { after } => Some(format!(", {}::bigint", micros(*after))),
            _ => None,
        }),
    );
    text.push_str(&promote(table, settlements));
    text.push_str("COMMIT");
    text
}

/// Makes the first waiting events of a partition pending, if the events in front of them have left. It must be a
/// statement after the one that let them leave: the module of the stores says why.
fn promote(table: &str, settlements: &[Settlement]) -> String {
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
    let (values, first, next) = (values.join(", "), of_partition("h"), of_partition("w"));
    format!(
        "UPDATE {table} SET state = 0, due_at = statement_timestamp() WHERE state = 3 AND seq IN (
    SELECT w.seq FROM (VALUES {values}) p(topic, partition_key)
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
        "{BEGIN}UPDATE {table} SET state = 0, due_at = statement_timestamp(), settled_at = NULL, attempts = 0 \
         WHERE state = {state} AND {chosen} RETURNING seq; COMMIT"
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
UPDATE {table} SET state = 0, due_at = statement_timestamp() WHERE state = 4 AND seq IN (
    SELECT seq FROM {table} WHERE state = 4 AND topic = {topic} ORDER BY seq LIMIT {limit} FOR UPDATE) RETURNING seq;
COMMIT"
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

/// A text as an expression that means the same whatever `standard_conforming_strings` and `client_encoding` are.
fn text_of(text: &str) -> String {
    let mut digits = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        let _ = write!(digits, "{byte:02x}");
    }
    format!("convert_from(decode('{digits}', 'hex'), 'UTF8')")
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
UNION ALL SELECT 'it has no valid index on (due_at, seq) for the pending events: a claim would read the whole table' FROM o
    WHERE NOT EXISTS (SELECT FROM i WHERE valid AND columns[1:2] = '{due_at,seq}')
UNION ALL SELECT 'it has no valid index on (topic, partition_key, seq) for the events that have not left' FROM o
    WHERE NOT EXISTS (SELECT FROM i WHERE valid AND partial AND columns[1:3] = '{topic,partition_key,seq}')
UNION ALL SELECT 'there is no table of the paused topics beside it' WHERE to_regclass($1 || '_paused') IS NULL";
