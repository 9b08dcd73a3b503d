//! The statements of the fused path: those that a connection prepares, and the messages that execute them.

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::super::super::bounded::Bounded;
use super::super::super::session::{BodyWrites, NewRecord};
use super::super::claim::{PgClaimRequest, PgHeldClaim};
use super::super::error::{self, IN_TRANSACTION};
use super::raised::{Function, KEY, callable, claim};
use super::{
    BEGIN_FUSED, BEGUN_NOW, BUSY, lock_number, lookup_columns, roll_back_body, set_savepoint,
};
use crate::values::key::hex;
use crate::values::record::{RecordFormat, Status};

/// The names of one table's statements. They contain a hash of the texts, because builds with different texts
/// can share a server connection.
pub(in super::super) struct Names {
    lock: String,
    claim: String,
    pub(in super::super) look: String,
    record: String,
}

impl Names {
    /// Returns the names, which are computed once for each table that is remembered.
    fn of(table: &str) -> Arc<Self> {
        static KNOWN: Bounded<String, Arc<Names>> = Bounded::new();
        KNOWN.find(|known| known == table).unwrap_or_else(|| {
            let names = Arc::new(Self::new(table));
            KNOWN.insert(table.to_owned(), Arc::clone(&names));
            names
        })
    }

    pub(in super::super) fn new(table: &str) -> Self {
        let claim = claim(table, None);
        let texts = [lock(table), claim, look_up(table), record(table)];
        let hash = Sha256::digest(texts.join(";"));
        let name = |what| format!("idem_{what}_{}", hex::lower(&hash[..8]));
        Self {
            lock: name("lock"),
            claim: name("claim"),
            look: name("look"),
            record: name("record"),
        }
    }

    /// Returns the statements in the order in which they are prepared. A message that fails keeps the
    /// statements before the failure, so a connection that knows the lock's statement, the last one, knows all
    /// of them.
    pub(in super::super) fn statements(
        &self,
        table: &str,
        function: Option<&Function>,
    ) -> [(&str, String); 4] {
        [
            (&self.record, record(table)),
            (&self.look, look_up(table)),
            (&self.claim, claim(table, function)),
            (&self.lock, lock(table)),
        ]
    }
}

/// Checks all that the fused path needs, asks for the lock, and lists the claim with the table's number in
/// `idem.held`. `$1` is the lock's number, or null, and `$2` the claim. Raises by a setting that does not exist
/// or by a cast that fails; the text is for readers of the server's log. Returns no row.
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

/// Looks the record up, as the plain path does. If there is none, it answers in `busy` whether another attempt
/// holds the lock, whose number is `$4`: the claim may have met a look-up that only asks, as this one does.
fn look_up(table: &str) -> String {
    format!(
        "(bytea, bytea, bytea, bigint) AS SELECT {BUSY} $4) END AS busy, {} LEFT JOIN {table} AS r ON {KEY}",
        lookup_columns(table),
    )
}

/// Inserts the first record of its key, completed or failed, and returns the attempt. `$1` to `$12` are the
/// record. Each further value is one more for the server to read at every call.
///
/// Before it inserts anything, it looks in `idem.held` for the claim with this table's number behind it, and
/// raises if it is not there. It also raises if the INSERT wrote nothing. `$11` and `$12` say how fingerprint and
/// payloads are written.
fn record(table: &str) -> String {
    let text = |n| format!("convert_from(${n}, 'UTF8')");
    let (completed, failed) = (Status::Completed.code(), Status::Failed.code());
    let held = "position($1::text || ',' IN current_setting('idem.held', true)) > 0";
    let held_here = format!(
        "position($1::text || ',' || '{table}'::regclass::oid::text || ';' \
         IN current_setting('idem.held', true)) > 0"
    );
    format!(
        "(uuid, bytea, bytea, bytea, bytea, bytea, bytea, bytea, bytea, bigint, smallint, smallint) \
         AS WITH written AS (INSERT INTO {table} AS r (created_at, expires_at, attempt_id, attempt, status, \
           fingerprint_version, codec, namespace, scope, key, operation, fingerprint, request, result, failure) \
           SELECT CASE WHEN {held_here} THEN clock.now ELSE \
             current_setting(CASE WHEN {held} THEN '{}' ELSE '{}' END)::timestamptz END, \
             clock.now + $10 * interval '1 microsecond', $1, 1, \
             CASE WHEN $9 IS NULL THEN {completed} ELSE {failed} END, $11, $12, \
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

/// Begins, asks for the lock with every check, and claims.
pub(in super::super) fn begin_and_claim(request: &PgClaimRequest, may_discard: bool) -> String {
    let names = Names::of(&request.table);
    let identity_bytes =
        request.identity.scope().as_str().len() + request.identity.key().as_str().len();
    // A call allocates once for it.
    let mut text = String::with_capacity(384 + 2 * identity_bytes);
    let _ = write!(text, "{BEGIN_FUSED}; EXECUTE {}(", names.lock);
    number(&mut text, lock_number(request));
    let _ = write!(
        text,
        ",'{}:{},'); EXECUTE {}(",
        request.lock_key,
        request.attempt_id.as_uuid(),
        names.claim
    );
    identity(&mut text, request);
    text.push(')');
    if may_discard {
        let _ = write!(text, "; {}", set_savepoint(request));
    }
    text
}

/// Ends the transaction of a message that raised, and looks the record up.
pub(in super::super) fn roll_back_and_look(request: &PgClaimRequest) -> String {
    let mut text = format!("ROLLBACK; EXECUTE {}(", Names::of(&request.table).look);
    identity(&mut text, request);
    text.push(',');
    number(&mut text, lock_number(request));
    text.push(')');
    text
}

/// Ends the transaction of a message that raised, and returns the table's number, the names of the prepared
/// statements, and where the function is that raises a record.
pub(in super::super) fn roll_back_and_list_prepared(table: &str) -> String {
    format!(
        "ROLLBACK; SELECT '{table}'::regclass::oid::bigint, \
         ARRAY(SELECT name FROM pg_prepared_statements WHERE name LIKE 'idem%')::text, ({})",
        callable(table),
    )
}

/// Prepares the statements that are not among the `known` ones, and the claim in any case: the function that it
/// calls may be another one, or none.
pub(in super::super) fn prepare(table: &str, known: &str, function: Option<&Function>) -> String {
    let mut text = String::new();
    let names = Names::of(table);
    for (name, statement) in names.statements(table, function) {
        let is_known = known.contains(name);
        if is_known && name == names.claim {
            let _ = write!(text, "DEALLOCATE {name};");
        } else if is_known {
            continue;
        }
        let _ = write!(text, "PREPARE {name} {statement};");
    }
    text
}

/// Writes the record and commits.
pub(in super::super) fn record_and_commit(
    claim: &PgHeldClaim,
    record: &NewRecord<'_>,
    body_writes: BodyWrites,
) -> String {
    let request = &claim.request;
    let payload = record.result.or(record.failure).unwrap_or_default().len();
    let mut text = String::with_capacity(2 * payload + 512);
    if body_writes == BodyWrites::Discard {
        let _ = write!(text, "{}; ", roll_back_body(request));
    }
    let statement = &Names::of(&request.table).record;
    let attempt = request.attempt_id.as_uuid();
    let _ = write!(text, "EXECUTE {statement}('{attempt}',");
    identity(&mut text, request);
    for value in [
        Some(record.operation.as_bytes()),
        record
            .fingerprint
            .as_ref()
            .map(|hash| hash.as_bytes().as_slice()),
        record.request,
        record.result,
        record.failure,
    ] {
        text.push(',');
        bytes(&mut text, value);
    }
    let _ = write!(text, ",{}", record.retention);
    if record.format == RecordFormat::CLEAR {
        text.push_str(CLEAR_FORMAT);
    } else {
        let RecordFormat {
            codec,
            fingerprint_version,
        } = record.format;
        let _ = write!(text, ",{fingerprint_version},{codec}");
    }
    text.push_str("); COMMIT AND CHAIN");
    text
}

/// [`RecordFormat::CLEAR`] as two values.
const CLEAR_FORMAT: &str = ",1,1";

/// Appends namespace, scope and key as three values.
fn identity(text: &mut String, request: &PgClaimRequest) {
    bytes(text, Some(request.identity.namespace().as_bytes()));
    text.push(',');
    bytes(text, Some(request.identity.scope().as_str().as_bytes()));
    text.push(',');
    bytes(text, Some(request.identity.key().as_str().as_bytes()));
}

fn number(text: &mut String, value: Option<i64>) {
    match value {
        Some(number) => {
            let _ = write!(text, "{number}");
        }
        None => text.push_str("NULL"),
    }
}

fn bytes(text: &mut String, value: Option<&[u8]>) {
    let Some(value) = value else {
        text.push_str("NULL");
        return;
    };
    // The `E` makes every server read the literal alike, whatever its settings say of a backslash.
    text.push_str("E'\\\\x");
    hex::push_lower(text, value);
    text.push('\'');
}
