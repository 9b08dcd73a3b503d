//! Every statement's text. Only a checked table name, integers and hex are ever spliced in.
//!
//! Statements go as text, values and all, and not as prepared ones: sqlx 0.9 loses its place in the
//! stream of answers where a call is dropped while a statement is being prepared, and would take
//! one statement's answer for another's. Several go in one message where no decision lies between.
//!
//! Two servers, one text: each runs the comments that are addressed to it (`/*M!`: MariaDB;
//! `/*!80001`: MySQL from 8.0.1, passed over by MariaDB).

use sha2::{Digest as _, Sha256};

mod lease;
pub(super) mod verify;

pub(super) use self::lease::{count_unknown, extend, held, lapse, unknown, update, upsert};
use super::super::lease_sql::{purgeable, reclaimable};
use super::super::session::{BodyWrites, NewRecord, Purgeable};
use super::claim::MySqlClaimRequest;
use crate::stores::fast_check;
use crate::values::fingerprint::FINGERPRINT_VERSION;
use crate::values::identity::Identity;
use crate::values::key::hex;
use crate::values::record::{CODEC_JSON, Timestamp};

/// Microseconds since the epoch, by the database's clock: one value in a statement, and no time
/// zone in it. Where a session has set its `timestamp` to another moment, the clock is read past that.
const NOW: &str = "IF(ABS(TIMESTAMPDIFF(SECOND, NOW(), SYSDATE())) < 60, \
     TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), \
     CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED))";

/// The clock alone, for a statement that finds its rows by an index on times: not by a moment that is
/// read anew for each row.
pub(super) fn clock() -> String {
    format!("SELECT {NOW} AS now LIMIT 1")
}

/// Where a table named without a database is looked for.
const DATABASE_PATH: &str =
    "concat_ws('/', @@hostname, @@port, @@socket, @@datadir, DATABASE()) AS database_path";

/// The status of a placeholder, which no record has.
pub(super) const PLACEHOLDER: i16 = 0;

/// When a claim and a lease expire: never.
pub(super) const NEVER: Timestamp = Timestamp::from_micros(i64::MAX);

/// Whether the server takes no writes, also from those who may write all the same.
const READ_ONLY: &str = "(CAST(@@global.read_only AS CHAR) NOT IN ('0', 'OFF')) AS read_only";

/// Whether what is written now is held back until a COMMIT. MySQL cannot say, and counts as if.
///
/// Galera undoes a transaction for the sake of another node's. Where that befalls a `SAVEPOINT`, a `SET`
/// or a `DO` among several statements of one message, MariaDB (10.11) reports success, and runs the rest
/// of the message, and whatever comes after it, outside any transaction. A statement that reads a table
/// or returns rows fails then, as it should.
const OPEN: &str = "(1 /*M! AND (@@in_transaction OR NOT @@autocommit) */) AS open";

/// The record's columns, and whether a placeholder is of this very session.
const RECORD: &str = "r.created_at, nullif(r.expires_at, 9223372036854775807) AS expires_at, r.locked_until, \
     r.attempt_id, r.attempt, r.status, r.fingerprint_version, r.codec, r.operation, r.fingerprint, r.request, \
     r.result, r.failure, (r.session_id <=> CONNECTION_ID()) AS own";

/// Ends whatever is open, also where `completion_type` would begin anew or hang up.
pub(super) const END: &str = "ROLLBACK AND NO CHAIN NO RELEASE";

/// Ends whatever a body has left, table locks after the transaction: the other way round would
/// commit it.
pub(super) const LEAVE: &str = "ROLLBACK AND NO CHAIN NO RELEASE; UNLOCK TABLES";

/// Begins a unit of work.
///
/// The first statement fails inside a transaction; the last would commit that one. COMMIT and
/// ROLLBACK are the driver's, whose count of transactions would be wrong under another
/// `completion_type`: the second statement fails there, by a value that does not exist, and from then on
/// [`BEGIN_ANYHOW`] is sent instead. `READ WRITE` is refused by a server that takes no writes.
pub(super) const BEGIN: &str = "SET TRANSACTION READ WRITE; \
     SET SESSION completion_type = IF(@@completion_type = 'NO_CHAIN', 0, 9); START TRANSACTION READ WRITE";

/// The same in a session of another `completion_type`, which is kept aside until [`RESTORE`].
pub(super) const BEGIN_ANYHOW: &str = "SET TRANSACTION READ WRITE; \
     SET @idem_completion_type = @@completion_type, SESSION completion_type = 0; START TRANSACTION READ WRITE";

/// After a unit of work, in any session.
pub(super) const RESTORE: &str = "SET SESSION completion_type = coalesce(@idem_completion_type, @@completion_type), \
     @idem_completion_type = NULL";

/// SELECT in a session of any `max_join_size`, which is about other statements.
pub(super) const SELECT: &str =
    "/*M! SET STATEMENT sql_big_selects = 1 FOR */ SELECT /*+ SET_VAR(sql_big_selects = 1) */";

/// A statement in a transaction of its own, whatever the session's autocommit. It fails inside another.
pub(super) fn alone(text: &str) -> String {
    format!("SET TRANSACTION READ WRITE; {text}; COMMIT AND NO CHAIN NO RELEASE")
}

/// A statement that does nothing.
pub(super) const NOTHING: &str = "DO 0";

/// Fails outside a transaction: no savepoint is kept there. Its name begins otherwise than an attempt's
/// (`ClaimRequest::savepoint`).
pub(super) const CHECK_TRANSACTION: &str = "SAVEPOINT here_idem; RELEASE SAVEPOINT here_idem";

/// How a locking read asks not to wait.
enum Wait {
    Shared,
    Exclusive,
}

impl Wait {
    fn clause(self) -> &'static str {
        match (self, fast_check::is_on()) {
            (Self::Shared, true) => {
                "/*!80001 FOR SHARE NOWAIT */ /*M! LOCK IN SHARE MODE NOWAIT */"
            }
            (Self::Shared, false) => "LOCK IN SHARE MODE",
            (Self::Exclusive, true) => "FOR UPDATE NOWAIT",
            (Self::Exclusive, false) => "FOR UPDATE",
        }
    }
}

/// The look before any transaction: a locking read that waits for nobody, and sees what is
/// committed whatever the isolation.
///
/// Under READ COMMITTED, or it would lock the gap where no record is, and be in the way of other
/// keys. The first statement fails inside a transaction. The last ends what the read has begun
/// where autocommit is off.
pub(super) fn look_up_before_begin(request: &MySqlClaimRequest) -> String {
    format!(
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; {}; {END}",
        look_locking(request, Wait::Shared)
    )
}

/// A mere look: waits for nobody and locks nothing.
pub(super) fn look_up(request: &MySqlClaimRequest) -> String {
    look(request, "")
}

/// The newest record, held as it is until the transaction ends.
pub(super) fn look_shared(request: &MySqlClaimRequest) -> String {
    look_locking(request, Wait::Shared)
}

/// The newest record, ours to replace until the transaction ends; and the savepoint before the
/// body.
pub(super) fn take_row(request: &MySqlClaimRequest) -> String {
    format!(
        "{}; SAVEPOINT {}; {}",
        look_locking(request, Wait::Exclusive),
        request.savepoint_name(),
        facts(&request.table)
    )
}

fn look_locking(request: &MySqlClaimRequest, wait: Wait) -> String {
    look(request, wait.clause())
}

/// One row always: the clock, and the record's columns or nulls.
fn look(request: &MySqlClaimRequest, lock: &str) -> String {
    format!(
        "SELECT {NOW} AS now, {READ_ONLY}, {OPEN}, (@@completion_type <> 'NO_CHAIN') AS chains, {DATABASE_PATH}, {RECORD} FROM (SELECT 1 AS n) AS one LEFT JOIN {} AS r ON {} \
         LIMIT 1 {lock}",
        request.table,
        is_it("r.", &request.identity)
    )
}

/// The placeholder, whose row lock is the claim, without waiting for another attempt's; and the savepoint
/// before the body. MySQL knows no INSERT that does not wait.
pub(super) fn claim(request: &MySqlClaimRequest) -> String {
    let identity = &request.identity;
    format!(
        "{}INSERT INTO {} (created_at, expires_at, session_id, attempt_id, attempt, status, \
         fingerprint_version, codec, namespace, scope, `key`, operation) \
         VALUES ({NOW}, {}, CONNECTION_ID(), {}, 1, 0, {FINGERPRINT_VERSION}, {CODEC_JSON}, {}, {}, {}, x''); \
         SAVEPOINT {}; {}",
        at_once(),
        request.table,
        NEVER.as_micros(),
        attempt(request),
        bytes(identity.namespace().as_bytes()),
        bytes(identity.scope().as_str().as_bytes()),
        bytes(identity.key().as_str().as_bytes()),
        request.savepoint_name(),
        facts(&request.table)
    )
}

/// The table's definition, and the clock, whether the transaction still stands and where the table is: two
/// rows. After the savepoint, which may hide that it does not.
pub(super) fn facts(table: &str) -> String {
    format!(
        "{}; SELECT {NOW} AS now, {READ_ONLY}, {OPEN}, {DATABASE_PATH} LIMIT 1",
        definition(table)
    )
}

/// The table's definition, as this session finds the table: a temporary one of that name hides it. The
/// whole of it, where the server can be told to whatever the session leaves out.
pub(super) fn definition(table: &str) -> String {
    format!(
        "/*M! SET STATEMENT sql_mode = 0, sql_quote_show_create = 1 FOR */ SHOW CREATE TABLE {table}"
    )
}

/// Fails if the savepoint is gone; with `body_writes`, takes back what was written since.
pub(super) fn release_savepoint(request: &MySqlClaimRequest, body_writes: BodyWrites) -> String {
    let savepoint = request.savepoint_name();
    let back = if body_writes == BodyWrites::Discard {
        format!("ROLLBACK TO SAVEPOINT {savepoint}; ")
    } else {
        String::new()
    };
    format!("{back}RELEASE SAVEPOINT {savepoint}")
}

/// The record, in place of the placeholder or of the reclaimable record seen; and whether it now stands
/// there, whole. A trigger may change what is written, and a session that is not strict cuts what
/// is too long.
pub(super) fn write(request: &MySqlClaimRequest, record: &NewRecord<'_>) -> String {
    let was = match record.replaces {
        None => format!(
            "status = {PLACEHOLDER} AND attempt_id = {}",
            attempt(request)
        ),
        Some(replaced) => format!("attempt_id = x'{replaced}' AND {}", reclaimable(NOW)),
    };
    let status = record.status.code();
    let this = is_it("", &request.identity);
    let digest = |payload: Option<&[u8]>| match payload {
        None => "NULL".to_owned(),
        Some(payload) => format!("'{}'", hex::lower(&Sha256::digest(payload))),
    };
    let (operation, fingerprint) = (bytes(record.operation.as_bytes()), value(hash(record)));
    format!(
        "UPDATE {table} SET created_at = {NOW}, expires_at = {NOW} + {}, locked_until = NULL, session_id = NULL, \
         attempt_id = {id}, attempt = {}, status = {status}, fingerprint_version = {FINGERPRINT_VERSION}, \
         codec = {CODEC_JSON}, operation = {operation}, fingerprint = {fingerprint}, request = {}, result = {}, \
         failure = {} WHERE {this} AND {was}; \
         SELECT (attempt_id = {id}) AS ours, (attempt_id = {id} AND status = {status} \
         AND operation = {operation} AND fingerprint <=> {fingerprint} AND sha2(request, 256) <=> {} \
         AND sha2(result, 256) <=> {} AND sha2(failure, 256) <=> {}) AS whole \
         FROM {table} WHERE {this} LIMIT 1",
        record.retention,
        record.attempt,
        value(record.request),
        value(record.result),
        value(record.failure),
        digest(record.request),
        digest(record.result),
        digest(record.failure),
        table = request.table,
        id = attempt(request),
    )
}

/// Takes this attempt's placeholder away.
pub(super) fn withdraw(request: &MySqlClaimRequest) -> String {
    format!(
        "DELETE FROM {} WHERE {} AND status = {PLACEHOLDER} AND attempt_id = {}",
        request.table,
        is_it("", &request.identity),
        attempt(request)
    )
}

/// Before a statement that must not wait for a lock. MySQL knows no such INSERT or UPDATE.
fn at_once() -> &'static str {
    if fast_check::is_on() {
        "/*M! SET STATEMENT innodb_lock_wait_timeout = 0 FOR */ "
    } else {
        ""
    }
}

fn hash<'e>(record: &'e NewRecord<'_>) -> Option<&'e [u8]> {
    let fingerprint = record.fingerprint.as_ref();
    fingerprint.map(|hash| hash.as_bytes().as_slice())
}

/// One batch of purgeable records; leases are not touched, and locked rows are passed over. The joined order
/// is fixed: the other one would lock the whole table. A session's `sql_safe_updates` and `max_join_size`
/// are about other statements.
pub(super) fn purge(table: &str, of: Purgeable, limit: u32, now: Timestamp) -> String {
    let (statuses, column, ago) = purgeable(of);
    format!(
        "/*M! SET STATEMENT sql_safe_updates = 0, sql_big_selects = 1 FOR */ \
         DELETE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_big_selects = 1) */ r FROM (SELECT namespace, scope, `key` FROM {table} \
         WHERE status IN ({statuses}) AND {column} <= {now} - {ago} ORDER BY {column} LIMIT {limit} \
         FOR UPDATE SKIP LOCKED) AS purgeable STRAIGHT_JOIN {table} AS r \
         ON r.namespace = purgeable.namespace AND r.scope = purgeable.scope AND r.`key` = purgeable.`key`",
        now = now.as_micros(),
    )
}

/// A purge's batch in a transaction of its own. Under READ COMMITTED only the rows deleted are locked, and no
/// gap between them.
pub(super) fn purge_alone(table: &str, of: Purgeable, limit: u32, now: Timestamp) -> String {
    format!(
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION READ WRITE; {}; \
         COMMIT AND NO CHAIN NO RELEASE",
        purge(table, of, limit, now)
    )
}

/// The name of the lock that is the lead of a table's purge: at most 64 characters, and it covers the database.
fn lead_name(table: &str) -> String {
    format!("CONCAT('idem.', SHA1(CONCAT_WS('.', DATABASE(), '{table}')))")
}

/// Asks for the lead, and for the time.
pub(super) fn lead(table: &str) -> String {
    let name = lead_name(table);
    format!("SELECT GET_LOCK({name}, 0) AS lead LIMIT 1; {}", clock())
}

/// Gives the lead up.
pub(super) fn give_up_lead(table: &str) -> String {
    format!("DO RELEASE_LOCK({})", lead_name(table))
}

/// These statements behind a question for this number.
pub(super) fn behind_number(number: u64, statements: &str) -> String {
    format!("SELECT {number} AS number LIMIT 1; {statements}")
}

/// Ends the session.
pub(super) const END_SESSION: &str = "KILL CONNECTION CONNECTION_ID()";

/// The longest message that the server takes, in bytes.
pub(super) const MAX_PACKET: &str = "SELECT CAST(@@max_allowed_packet AS SIGNED) AS bytes LIMIT 1";

fn is_it(of: &str, identity: &Identity) -> String {
    format!(
        "{of}namespace = {} AND {of}scope = {} AND {of}`key` = {}",
        bytes(identity.namespace().as_bytes()),
        bytes(identity.scope().as_str().as_bytes()),
        bytes(identity.key().as_str().as_bytes())
    )
}

fn attempt(request: &MySqlClaimRequest) -> String {
    format!("x'{}'", request.attempt_id)
}

fn value(payload: Option<&[u8]>) -> String {
    payload.map_or_else(|| "NULL".to_owned(), bytes)
}

fn bytes(value: &[u8]) -> String {
    format!("x'{}'", hex::lower(value))
}
