//! The prepared statements of the fused path: their names and texts.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::super::super::bounded::Bounded;
use super::super::{error, sql};
use crate::values::fingerprint::FINGERPRINT_VERSION;
use crate::values::key::hex;
use crate::values::record::{CODEC_JSON, Status};

/// The names of one table's statements. They hold a hash of the texts: builds that disagree on those
/// can share a server connection.
pub(super) struct Names {
    pub(super) claim: String,
    pub(super) look: String,
    pub(super) record: String,
}

impl Names {
    /// Made once for each table that is remembered.
    pub(super) fn of(table: &str) -> Arc<Self> {
        static KNOWN: Bounded<String, Arc<Names>> = Bounded::new();
        KNOWN.find(|known| known == table).unwrap_or_else(|| {
            let names = Arc::new(Self::new(table));
            KNOWN.insert(table.to_owned(), Arc::clone(&names));
            names
        })
    }

    pub(super) fn new(table: &str) -> Self {
        let texts = [claim(table), look_up(table), record(table)];
        let hash = Sha256::digest(texts.join(";"));
        let name = |what| format!("idem_{what}_{}", hex::lower(&hash[..8]));
        Self {
            claim: name("claim"),
            look: name("look"),
            record: name("record"),
        }
    }

    /// In this order, for a failing message leaves those before the failure: who knows the claim knows
    /// all of them.
    pub(super) fn statements(&self, table: &str) -> [(&str, String); 3] {
        [
            (&self.record, record(table)),
            (&self.look, look_up(table)),
            (&self.claim, claim(table)),
        ]
    }
}

const KEY: &str = "r.namespace = convert_from($1, 'UTF8') AND r.scope = convert_from($2, 'UTF8') \
     AND r.key = convert_from($3, 'UTF8')";

/// `$1` to `$3` are the identity. What is raised is a cast that fails; the text is for whoever reads the
/// server's log.
fn claim(table: &str) -> String {
    format!(
        "(bytea, bytea, bytea) AS SELECT CASE \
         WHEN coalesce(position(',' || table_oid || ',' IN verified), 0) = 0 \
         THEN ('idem_has_not_verified_the_table_on_this_connection' || nothing)::regnamespace::text \
         WHEN isolation NOT LIKE 'read %' THEN ('idem_needs_read_committed' || nothing)::regproc::text \
         WHEN r.status IS NOT NULL THEN ('idem: the key has a record' || nothing)::bigint::text \
         ELSE set_config('idem.table_oid', table_oid, true) END \
         FROM (SELECT current_setting('idem.verified', true) AS verified, \
           left(current_setting('idem.held'), 0) AS nothing, \
           current_setting('transaction_isolation') AS isolation, \
           '{table}'::regclass::oid::text AS table_oid OFFSET 0) AS session \
         LEFT JOIN {table} AS r ON {KEY}"
    )
}

/// The plain path's look-up.
fn look_up(table: &str) -> String {
    format!(
        "(bytea, bytea, bytea) AS SELECT {} LEFT JOIN {table} AS r ON {KEY}",
        sql::lookup_columns(table),
    )
}

/// `$1` to `$10` are the record: the first of its key, completed or failed. Each value more is one more for
/// the server to read, at every call. Answers the attempt.
fn record(table: &str) -> String {
    let text = |n| format!("convert_from(${n}, 'UTF8')");
    let (completed, failed) = (Status::Completed.code(), Status::Failed.code());
    format!(
        "(uuid, bytea, bytea, bytea, bytea, bytea, bytea, bytea, bytea, bigint) \
         AS WITH written AS (INSERT INTO {table} AS r (created_at, expires_at, attempt_id, attempt, status, \
           fingerprint_version, codec, namespace, scope, key, operation, fingerprint, request, result, failure) \
           SELECT clock.now, clock.now + $10 * interval '1 microsecond', $1, 1, \
             CASE WHEN $9 IS NULL THEN {completed} ELSE {failed} END, {FINGERPRINT_VERSION}, {CODEC_JSON}, \
             {}, {}, {}, {}, $6, $7, $8, $9 \
           FROM (SELECT pg_catalog.clock_timestamp() AS now OFFSET 0) AS clock \
           WHERE CASE WHEN '{table}'::regclass::oid::text = current_setting('idem.table_oid', true) \
             THEN true ELSE current_setting('{}') IS NULL END \
           RETURNING 1) SELECT CASE count(*) WHEN 1 THEN $1::text ELSE current_setting('{}') END FROM written",
        text(2),
        text(3),
        text(4),
        text(5),
        error::TABLE_MOVED,
        error::NOT_WRITTEN,
    )
}
