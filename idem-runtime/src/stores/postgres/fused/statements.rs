//! The prepared statements of the fused path: their names and texts.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::super::super::bounded::Bounded;
use super::super::error::{self, IN_TRANSACTION};
use super::super::sql::{self, BEGUN_NOW};
use crate::values::fingerprint::FINGERPRINT_VERSION;
use crate::values::key::hex;
use crate::values::record::{CODEC_JSON, Status};

/// The names of one table's statements. They hold a hash of the texts: builds that disagree on those
/// can share a server connection.
pub(super) struct Names {
    pub(super) lock: String,
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
        let texts = [lock(table), claim(table), look_up(table), record(table)];
        let hash = Sha256::digest(texts.join(";"));
        let name = |what| format!("idem_{what}_{}", hex::lower(&hash[..8]));
        Self {
            lock: name("lock"),
            claim: name("claim"),
            look: name("look"),
            record: name("record"),
        }
    }

    /// In this order, for a failing message leaves those before the failure: who knows the lock knows
    /// all of them.
    pub(super) fn statements(&self, table: &str) -> [(&str, String); 4] {
        [
            (&self.record, record(table)),
            (&self.look, look_up(table)),
            (&self.claim, claim(table)),
            (&self.lock, lock(table)),
        ]
    }
}

const KEY: &str = "r.namespace = convert_from($1, 'UTF8') AND r.scope = convert_from($2, 'UTF8') \
     AND r.key = convert_from($3, 'UTF8')";

/// `$1` is the lock's number, or null, and `$2` the claim. Checks all that the fused path needs, asks for the
/// lock, and lists the claim with the table's number in `idem.held`. What is raised is a setting that does not
/// exist or a cast that fails; the text is for whoever reads the server's log. It answers no row.
fn lock(table: &str) -> String {
    format!(
        "(bigint, text) AS SELECT WHERE CASE \
         WHEN NOT {BEGUN_NOW} THEN current_setting('{IN_TRANSACTION}') \
         WHEN NOT pg_try_advisory_xact_lock($1) \
         THEN ('idem: the key is in flight' || left($2, 0))::timestamptz::text \
         WHEN coalesce(position(',' || '{table}'::regclass::oid::text || ',' \
           IN current_setting('idem.verified', true)), 0) = 0 \
         THEN ('idem_has_not_verified_the_table_on_this_connection' || left($2, 0))::regnamespace::text \
         WHEN current_setting('transaction_isolation') NOT LIKE 'read %' \
         THEN ('idem_needs_read_committed' || left($2, 0))::regproc::text \
         ELSE set_config('idem.held', $2 || '{table}'::regclass::oid::text || ';', true) END IS NULL"
    )
}

/// `$1` to `$3` are the identity. Raises if the key has a record, and answers no row.
fn claim(table: &str) -> String {
    format!(
        "(bytea, bytea, bytea) AS \
         SELECT ('idem: the key has a record' || left(current_setting('idem.held'), 0))::bigint \
         FROM {table} AS r WHERE {KEY}"
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
///
/// The claim is looked for in `idem.held` before anything is inserted: with this table's number behind it, or it
/// raises. It also raises where the INSERT wrote nothing.
fn record(table: &str) -> String {
    let text = |n| format!("convert_from(${n}, 'UTF8')");
    let (completed, failed) = (Status::Completed.code(), Status::Failed.code());
    let held = "position($1::text || ',' IN current_setting('idem.held', true)) > 0";
    let held_here = format!(
        "position($1::text || ',' || '{table}'::regclass::oid::text || ';' \
         IN current_setting('idem.held', true)) > 0"
    );
    format!(
        "(uuid, bytea, bytea, bytea, bytea, bytea, bytea, bytea, bytea, bigint) \
         AS WITH written AS (INSERT INTO {table} AS r (created_at, expires_at, attempt_id, attempt, status, \
           fingerprint_version, codec, namespace, scope, key, operation, fingerprint, request, result, failure) \
           SELECT CASE WHEN {held_here} THEN clock.now ELSE \
             current_setting(CASE WHEN {held} THEN '{}' ELSE '{}' END)::timestamptz END, \
             clock.now + $10 * interval '1 microsecond', $1, 1, \
             CASE WHEN $9 IS NULL THEN {completed} ELSE {failed} END, {FINGERPRINT_VERSION}, {CODEC_JSON}, \
             {}, {}, {}, {}, $6, $7, $8, $9 \
           FROM (SELECT pg_catalog.clock_timestamp() AS now OFFSET 0) AS clock RETURNING 1) \
         SELECT CASE WHEN EXISTS (SELECT FROM written) THEN $1::text ELSE current_setting('{}') END",
        error::TABLE_MOVED,
        error::CLAIM_GONE,
        text(2),
        text(3),
        text(4),
        text(5),
        error::NOT_WRITTEN,
    )
}
