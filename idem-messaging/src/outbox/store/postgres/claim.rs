//! The claim for PostgreSQL: its statement, and its answer.
//!
//! **It writes no index.** The columns of a claim are in none, and each page has room for its rows as they are when
//! claimed: PostgreSQL then writes the page alone (a heap-only tuple). So the cost of a claim does not grow with the table.
//! Rows are written by their place.
//!
//! **It reads by place only what its own snapshot sees.** A row may have been changed between the snapshot and its lock, and
//! has another place then. Such a row is not among the events that are due: it stands before the later ones of its
//! partition, and the next claim takes it.

use std::fmt::Display;

use sqlx::postgres::PgRow;
use sqlx::{Error, Row as _};

use super::horizon::{Horizon, Observed, Snapshot};
use super::row;
use super::sql::{BEGIN, BY_INDEX, LATER, NUMBER, READY, UNREADY, of_partition};
use crate::outbox::store::{ClaimRequest, Claimed, micros};

/// What is ready, `chosen`, and not claimed.
fn ready(table: &str, chosen: &str) -> String {
    format!(
        "SELECT ctid AS place FROM {table}
     WHERE {READY} AND {chosen}
       AND (lease_ends_at IS NULL OR lease_ends_at <= statement_timestamp())"
    )
}

/// The first event of a partition that is before a due one and is not due. Its number is at the floor or above, as is that of
/// all that are not ready, or it is an open one's that ready events have.
fn front(table: &str) -> String {
    let first = |chosen: &str| {
        let of_partition = of_partition("e", chosen);
        format!(
            "(SELECT e.seq FROM {table} e
         WHERE {of_partition} AND e.seq < p.last AND e.seq NOT IN (SELECT seq FROM due$)
         ORDER BY e.seq LIMIT 1)"
        )
    };
    let from_floor = first(&format!(">= {FLOOR}"));
    let late = first("= o.x");
    format!("least({from_floor}, (SELECT min(f.seq) FROM occupied$ o CROSS JOIN LATERAL {late} f))")
}

/// The floor, if the session that answers is the one that it was learnt from.
const FLOOR: &str = "(SELECT floor FROM floor$)";

/// The session that answers: a pooler gives each claim to another one, and after a crash the server counts anew from what its
/// log has. Both numbers are needed: those of processes come again.
const SESSION: &str = "SELECT concat(pid, ' ', extract(epoch FROM backend_start)) AS name \
     FROM pg_stat_get_activity(pg_backend_pid())";

/// Its parts have names with a `$`, which no table of an outbox has.
///
/// Events that become due again take half of a claim at most, so that they do not keep the new ones away.
pub(super) fn statement(table: &str, request: ClaimRequest, horizon: &Horizon) -> String {
    let ClaimRequest {
        limit,
        lease,
        token,
    } = request;
    let lease = micros(lease);
    let half = limit.div_ceil(2);
    let (number, seq) = horizon.floor();
    let floor = format!("(queued_xid, seq) >= ({FLOOR}, {seq})");
    let session = horizon.session();
    let open = format!("'{{{}}}'::xid8[]", list(horizon.open()));
    let is_open = if horizon.open().is_empty() {
        "AND false"
    } else {
        ""
    };
    let late = ready(table, &format!("queued_xid = ANY ({open}) {is_open}"));
    let fresh = ready(table, &floor);
    let front = front(table);
    format!(
        "{BEGIN}{BY_INDEX}\
WITH session$ AS MATERIALIZED (
    {SESSION}
), floor$ AS MATERIALIZED (
    SELECT (CASE WHEN (SELECT name FROM session$) = '{session}' THEN '{number}' ELSE '0' END)::xid8 AS floor
), occupied$ AS MATERIALIZED (
    SELECT x FROM unnest({open}) x WHERE EXISTS (SELECT FROM {table} WHERE {READY} AND queued_xid = x OFFSET 0)
), again$ AS MATERIALIZED (
    SELECT ctid AS place FROM {table}
     WHERE {LATER} AND due_at <= statement_timestamp()
     ORDER BY due_at, seq LIMIT {half} FOR UPDATE SKIP LOCKED
), late$ AS MATERIALIZED (
    {late}
     LIMIT {limit} - (SELECT count(*) FROM again$) FOR UPDATE SKIP LOCKED
), fresh$ AS MATERIALIZED (
    {fresh}
     ORDER BY queued_xid, seq
     LIMIT {limit} - (SELECT count(*) FROM again$) - (SELECT count(*) FROM late$) FOR UPDATE SKIP LOCKED
), due$ AS MATERIALIZED (
    SELECT ctid AS place, seq, partition_hash, topic, partition_key FROM {table} WHERE ctid = ANY (ARRAY(
        SELECT place FROM again$ UNION ALL SELECT place FROM late$ UNION ALL SELECT place FROM fresh$))
), paused$ AS MATERIALIZED (
    SELECT topic FROM {table}_paused WHERE topic IN (SELECT topic FROM due$) FOR SHARE SKIP LOCKED
), front$ AS MATERIALIZED (
    SELECT p.topic, p.partition_key, {front} AS seq
      FROM (SELECT partition_hash, topic, partition_key, max(seq) AS last FROM due$ WHERE partition_hash IS NOT NULL
             GROUP BY partition_hash, topic, partition_key) p
), verdict$ AS MATERIALIZED (
    SELECT d.place, f.seq AS front, coalesce(f.seq < d.seq, false) AS waits,
           d.topic IN (SELECT topic FROM paused$) AS held
      FROM due$ d LEFT JOIN front$ f ON f.topic = d.topic AND f.partition_key = d.partition_key
), locked$ AS MATERIALIZED (
    SELECT seq FROM {table}
     WHERE seq IN (SELECT front FROM verdict$ WHERE waits AND NOT held) AND state IN (0, 3, 4)
       FOR SHARE SKIP LOCKED
), waiting$ AS (
    UPDATE {table} SET state = 3, {UNREADY} WHERE ctid = ANY (ARRAY(
        SELECT place FROM verdict$ WHERE waits AND NOT held AND front IN (SELECT seq FROM locked$))) RETURNING 1
), held$ AS (
    UPDATE {table} SET state = 4, {UNREADY} WHERE ctid = ANY (ARRAY(
        SELECT place FROM verdict$ WHERE held)) RETURNING 1
), claimed$ AS (
    UPDATE {table} t SET lease_ends_at = statement_timestamp() + {lease} * interval '1 microsecond',
           claim_token = '{token}', attempts = attempts + 1, queued_xid = least(queued_xid, {NUMBER})
     WHERE ctid = ANY (ARRAY(SELECT place FROM verdict$ WHERE NOT waits AND NOT held))
    RETURNING t.seq, t.attempts, (extract(epoch FROM t.appended_at) * 1000000)::bigint AS appended_at, t.id, t.topic,
              t.partition_key, t.event_type, t.source, t.subject, t.content_type, t.traceparent, t.tracestate, t.headers,
              t.payload
)
SELECT (SELECT count(*) FROM waiting$) + (SELECT count(*) FROM held$) AS put_aside,
       pg_current_snapshot()::text AS snapshot,
       (SELECT concat(queued_xid, ',', seq) FROM {table} WHERE {READY} AND {floor}
         ORDER BY queued_xid, seq LIMIT 1) AS lowest,
       (SELECT string_agg(x::text, ',') FROM occupied$) AS occupied,
       (SELECT name FROM session$) AS session,
       c.*
  FROM (SELECT) one LEFT JOIN claimed$ c ON true ORDER BY c.seq;
COMMIT"
    )
}

/// Reads the answer, and lets the horizon learn from it.
pub(super) fn answer(rows: &[PgRow], horizon: &mut Horizon) -> Result<Claimed, Error> {
    let mut claimed = Claimed::default();
    if let Some(first) = rows.first() {
        horizon.learn(&observed(first)?);
        claimed.put_aside =
            u64::try_from(first.try_get::<i64, _>("put_aside")?).unwrap_or_default();
    }
    for row in rows {
        claimed.events.extend(row::claimed(row)?);
    }
    Ok(claimed)
}

fn observed(row: &PgRow) -> Result<Observed, Error> {
    let snapshot: &str = row.try_get("snapshot")?;
    let numbers = |text: Option<&str>| {
        let numbers = text.unwrap_or_default().split(',');
        let numbers = numbers.filter(|number| !number.is_empty()).map(str::parse);
        numbers
            .collect::<Result<Vec<u64>, _>>()
            .map_err(|error| Error::Decode(error.into()))
    };
    let lowest = match numbers(row.try_get("lowest")?)?[..] {
        [number, seq] => Some((number, seq.cast_signed())),
        _ => None,
    };
    Ok(Observed {
        snapshot: Snapshot::parse(snapshot)
            .ok_or_else(|| Error::Decode(format!("not a snapshot: {snapshot}").into()))?,
        lowest,
        occupied: numbers(row.try_get("occupied")?)?,
        session: row.try_get::<Option<String>, _>("session")?,
    })
}

/// The numbers as the elements of an array.
fn list<T: Display>(numbers: &[T]) -> String {
    let numbers: Vec<_> = numbers.iter().map(ToString::to_string).collect();
    numbers.join(",")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_claim_is_a_message_of_four_statements() {
        let request = ClaimRequest {
            limit: 256,
            lease: Duration::from_mins(1),
            token: Uuid::nil(),
        };
        let text = statement("idem_outbox", request, &Horizon::default());
        assert_eq!(text.matches(';').count(), 3, "{text}");
    }
}
