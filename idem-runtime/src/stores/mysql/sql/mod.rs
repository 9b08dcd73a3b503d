//! The text of every statement. Only a checked table name, integers and hex are ever spliced in.
//!
//! Statements are sent as text with their values, and not as prepared ones. If a call is dropped while a
//! statement is being prepared, sqlx 0.9 loses its place in the stream of answers, and would take one
//! statement's answer for another's. Several statements go in one message if no decision lies between them.
//!
//! The text is the same for both servers: each runs the comments that are addressed to it (`/*M!`: MariaDB;
//! `/*!80001`: MySQL from 8.0.1, skipped by MariaDB).

#[cfg(feature = "operate")]
pub(super) mod doctor;
pub(super) mod fused;
pub(super) mod hold;
pub(super) mod lapsed;
mod lease;
#[cfg(feature = "operate")]
pub(super) mod operate;
pub(super) mod purge;
pub(super) mod record;
#[cfg(feature = "metrics")]
pub(super) mod sample;
pub(super) mod verify;

pub(super) use self::lease::{count_unknown, extend, held, lapse, unknown, update, upsert};
use super::super::session::NewRecord;
use super::claim::MySqlClaimRequest;
use crate::stores::fast_check;
use crate::values::fingerprint::FINGERPRINT_VERSION;
use crate::values::identity::Identity;
use crate::values::key::hex;
use crate::values::record::{CODEC_JSON, Timestamp};

/// Microseconds since the epoch, by the database's clock: one value per statement, and independent of time
/// zones. If a session has set its `timestamp` to another moment, the real clock is read.
const NOW: &str = "IF(ABS(TIMESTAMPDIFF(SECOND, NOW(), SYSDATE())) < 60, \
     TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), \
     CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED))";

/// Reads the clock alone, for a statement that finds its rows by an index on times: such a statement must not
/// use a moment that is read anew for each row.
pub(super) fn clock() -> String {
    format!("SELECT {NOW} AS now LIMIT 1")
}

/// The server, its kind, and the database in which a table that is named without a database is looked for.
const LOCATION: &str =
    "concat_ws('/' /*M! , 'MariaDB' */, @@hostname, @@port, @@socket, @@datadir, DATABASE())";

/// The same in hexadecimal digits, which are the same text in any character set.
fn database_path() -> String {
    format!("hex({LOCATION})")
}

/// Returns the condition that this is where the session is.
fn is_at(database_path: &str) -> String {
    format!("{LOCATION} = x'{database_path}'")
}

/// Returns whether the server there has an INSERT that does not wait: MariaDB has.
pub(super) fn inserts_at_once(database_path: &str) -> bool {
    database_path.starts_with(&hex::lower(b"MariaDB/").to_ascii_uppercase())
}

/// The status of a placeholder, which no record has.
pub(super) const PLACEHOLDER: i16 = 0;

/// The time at which a claim and a lease expire: never.
pub(super) const NEVER: Timestamp = Timestamp::from_micros(i64::MAX);

/// Is true if the server is read-only, also for an account that may write all the same.
const READ_ONLY: &str = "(CAST(@@global.read_only AS CHAR) NOT IN ('0', 'OFF'))";

/// Is true if writes are held back until a COMMIT. MySQL cannot say, and is taken to hold them back.
///
/// Galera undoes a transaction for the sake of another node's. If that happens at a `SAVEPOINT`, a `SET` or a
/// `DO` among several statements of one message, MariaDB (10.11) reports success, and runs the rest of the
/// message, and everything after it, outside any transaction. A statement that reads a table or returns rows
/// fails then, as it should.
const OPEN: &str = "(1 /*M! AND (@@in_transaction OR NOT @@autocommit) */)";

/// Is true if COMMIT and ROLLBACK only end a transaction.
const NO_CHAIN: &str = "(@@completion_type = 'NO_CHAIN')";

/// The record's columns, and whether a placeholder is of this session.
const RECORD: &str = "r.created_at, nullif(r.expires_at, 9223372036854775807) AS expires_at, r.locked_until, \
     r.attempt_id, r.attempt, r.status, r.fingerprint_version, r.codec, r.operation, r.fingerprint, r.request, \
     r.result, r.failure, (r.session_id <=> CONNECTION_ID()) AS own";

/// Ends any open transaction, even if `completion_type` would begin a new one or disconnect.
pub(super) const END: &str = "ROLLBACK AND NO CHAIN NO RELEASE";

/// Ends all that a body has left open. Table locks come after the transaction: the other way round would commit
/// it.
pub(super) const LEAVE: &str = "ROLLBACK AND NO CHAIN NO RELEASE; UNLOCK TABLES";

/// Begins a unit of work.
///
/// The first statement fails inside a transaction; the last would commit that one. COMMIT and ROLLBACK are the
/// driver's, whose count of transactions would be wrong under another `completion_type`. Under such a type the
/// second statement fails, by a value that does not exist, and from then on [`BEGIN_ANYHOW`] is sent instead. A
/// server that accepts no writes refuses `READ WRITE`.
pub(super) const BEGIN: &str = "SET TRANSACTION READ WRITE; \
     SET SESSION completion_type = IF(@@completion_type = 'NO_CHAIN', 0, 9); START TRANSACTION READ WRITE";

/// Begins in a session of another `completion_type`, which is kept aside until [`RESTORE`].
pub(super) const BEGIN_ANYHOW: &str = "SET TRANSACTION READ WRITE; \
     SET @idem_completion_type = @@completion_type, SESSION completion_type = 0; START TRANSACTION READ WRITE";

/// Restores the `completion_type` after a unit of work, in any session.
pub(super) const RESTORE: &str = "SET SESSION completion_type = coalesce(@idem_completion_type, @@completion_type), \
     @idem_completion_type = NULL";

/// Starts a SELECT that ignores the session's `max_join_size`, which is meant for other statements.
pub(super) const SELECT: &str =
    "/*M! SET STATEMENT sql_big_selects = 1 FOR */ SELECT /*+ SET_VAR(sql_big_selects = 1) */";

/// Runs a statement in its own transaction, whatever the session's autocommit. It fails inside another
/// transaction.
pub(super) fn alone(text: &str) -> String {
    format!("SET TRANSACTION READ WRITE; {text}; COMMIT AND NO CHAIN NO RELEASE")
}

/// A statement that does nothing.
pub(super) const NOTHING: &str = "DO 0";

/// Fails outside a transaction: no savepoint is kept there. Its name begins differently from an attempt's
/// (`ClaimRequest::savepoint`).
pub(super) const CHECK_TRANSACTION: &str = "SAVEPOINT here_idem; RELEASE SAVEPOINT here_idem";

/// How many statements [`CHECK_TRANSACTION`] has.
pub(super) const CHECKS: usize = 2;

/// The way in which a locking read asks not to wait.
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

/// Looks the record up before any transaction, by a locking read that waits for no lock and sees committed data
/// under any isolation level. Returns no row if there is no record.
///
/// It runs under READ COMMITTED: otherwise it would lock the gap if there is no record, and block other keys.
/// The first statement fails inside a transaction. The last one ends the transaction that the read has begun if
/// autocommit is off.
pub(super) fn look_up_before_begin(request: &MySqlClaimRequest) -> String {
    format!(
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; \
         SELECT {NOW} AS now, {READ_ONLY} AS read_only, NOT {NO_CHAIN} AS chains, {RECORD} FROM {} AS r WHERE {} \
         LIMIT 1 {}; {END}",
        request.table,
        is_it("r.", &request.identity),
        Wait::Shared.clause()
    )
}

/// Ends what a message that failed has begun, and then looks up as [`look_up_before_begin`] does.
pub(super) fn end_and_look_up(request: &MySqlClaimRequest) -> String {
    format!("{END}; {}", look_up_before_begin(request))
}

/// Looks the record up: waits for nobody and locks nothing.
pub(super) fn look_up(request: &MySqlClaimRequest) -> String {
    look(request, "")
}

/// Fails outside a transaction, and then looks up as [`look_up`] does.
pub(super) fn look_inside(request: &MySqlClaimRequest) -> String {
    format!("{CHECK_TRANSACTION}; {}", look_up(request))
}

/// Looks up the newest record, and locks it against changes until the transaction ends.
pub(super) fn look_shared(request: &MySqlClaimRequest) -> String {
    look_locking(request, Wait::Shared)
}

/// Looks up the newest record, locks it for replacement until the transaction ends, and sets the savepoint
/// before the body.
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

/// Looks the record up. Returns always one row: the clock, and the record's columns or nulls.
fn look(request: &MySqlClaimRequest, lock: &str) -> String {
    format!(
        "SELECT {NOW} AS now, {READ_ONLY} AS read_only, {OPEN} AS open, NOT {NO_CHAIN} AS chains, \
         {} AS database_path, {RECORD} FROM (SELECT 1 AS n) AS one LEFT JOIN {} AS r ON {} \
         LIMIT 1 {lock}",
        database_path(),
        request.table,
        is_it("r.", &request.identity)
    )
}

/// Inserts the placeholder, whose row lock is the claim, without waiting for another attempt's, and sets the
/// savepoint before the body.
pub(super) fn claim(request: &MySqlClaimRequest) -> String {
    format!("{}; {}", insert_placeholder(request), facts(&request.table))
}

/// Inserts the placeholder and sets the savepoint. MySQL knows no INSERT that does not wait.
fn insert_placeholder(request: &MySqlClaimRequest) -> String {
    let identity = &request.identity;
    format!(
        "{}INSERT INTO {} (created_at, expires_at, session_id, attempt_id, attempt, status, \
         fingerprint_version, codec, namespace, scope, `key`, operation) \
         VALUES ({NOW}, {}, CONNECTION_ID(), {}, 1, 0, {FINGERPRINT_VERSION}, {CODEC_JSON}, {}, {}, {}, x''); \
         SAVEPOINT {}",
        at_once(),
        request.table,
        NEVER.as_micros(),
        attempt(request),
        bytes(identity.namespace().as_bytes()),
        bytes(identity.scope().as_str().as_bytes()),
        bytes(identity.key().as_str().as_bytes()),
        request.savepoint_name(),
    )
}

/// Returns two rows: the table's definition; and the clock, whether the transaction still stands, and where the
/// table is. Sent after the savepoint, which may hide that the transaction is gone.
pub(super) fn facts(table: &str) -> String {
    format!(
        "{}; SELECT {NOW} AS now, {READ_ONLY} AS read_only, {OPEN} AS open, {} AS database_path LIMIT 1",
        definition(table),
        database_path()
    )
}

/// Returns the table's definition, as this session finds the table: a temporary one of that name hides it. The
/// definition is complete if the server can be asked to ignore what the session leaves out.
pub(super) fn definition(table: &str) -> String {
    format!(
        "/*M! SET STATEMENT sql_mode = 0, sql_quote_show_create = 1 FOR */ SHOW CREATE TABLE {table}"
    )
}

/// Deletes this attempt's placeholder.
pub(super) fn withdraw(request: &MySqlClaimRequest) -> String {
    format!(
        "DELETE FROM {} WHERE {} AND status = {PLACEHOLDER} AND attempt_id = {}",
        request.table,
        is_it("", &request.identity),
        attempt(request)
    )
}

/// Precedes a statement that must not wait for a lock. MySQL knows no such INSERT or UPDATE.
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

/// Returns statements before and after a query for this number.
pub(super) fn with_number(leading: &[String], number: u64, statements: &str) -> String {
    let leading = leading.iter().map(|statement| format!("{statement}; "));
    let leading: String = leading.collect();
    format!("{leading}SELECT {number} AS number LIMIT 1; {statements}")
}

/// Ends the session.
pub(super) const END_SESSION: &str = "KILL CONNECTION CONNECTION_ID()";

/// The longest message that the server accepts, in bytes.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mariadb_is_asked_to_insert_before_a_look_up() {
        let path = |text: &str| hex::lower(text.as_bytes()).to_ascii_uppercase();
        assert!(inserts_at_once(&path("MariaDB/host/3306/socket/data/shop")));
        assert!(!inserts_at_once(&path(
            "host/3306/socket/data/MariaDB/shop"
        )));
        assert!(!inserts_at_once(""));
    }
}
