//! Fills the outbox by SQL.

use crate::Fault;
use crate::server::Database;

/// Columns, and their values in row `n`.
pub(super) type Kind = (&'static str, &'static str);

/// Events that are ready, each of a partition of its own.
pub(super) const READY: Kind = (
    "due_at, queued_xid, partition_key, partition_hash",
    "now(), pg_current_xact_id(), 'case-' || n, hashtextextended('cases', hashtextextended('case-' || n, 0))",
);

/// Events that are set aside.
pub(super) const DEAD: Kind = (
    "settled_at, state, attempts, partition_key, partition_hash",
    "now(), 2, 16, 'case-' || n, hashtextextended('cases', hashtextextended('case-' || n, 0))",
);

/// An event that waits for its backoff.
pub(super) const HEAD: Kind = (
    "due_at, partition_key, partition_hash",
    "now() + interval '1 day', 'stuck', hashtextextended('cases', hashtextextended('stuck', 0))",
);

/// Events that wait for it.
pub(super) const BEHIND: Kind = (
    "state, partition_key, partition_hash",
    "3, 'stuck', hashtextextended('cases', hashtextextended('stuck', 0))",
);

/// Appends events of about 100 bytes of JSON.
pub(super) async fn events(
    database: &Database,
    table: &str,
    count: usize,
    (columns, values): Kind,
) -> Result<(), Fault> {
    database
        .run(&format!(
            "INSERT INTO {table} (appended_at, id, topic, event_type, source, content_type, payload, {columns}) \
             SELECT clock_timestamp(), encode(sha256(uuid_send(gen_random_uuid())), 'hex'), 'cases', \
             'com.example.case.escalated.v1', '/cases', 'application/json', convert_to('{{\"case\":' || n || \
             ',\"note\":\"' || repeat('x', 80) || '\"}}', 'UTF8'), {values} FROM generate_series(1, {count}) n"
        ))
        .await
}
