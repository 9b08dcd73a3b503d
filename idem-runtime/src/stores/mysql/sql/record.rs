//! The statements behind the body: release the savepoint, write the record, and what belongs to that.

use sha2::{Digest as _, Sha256};

use super::super::super::lease_sql::reclaimable;
use super::super::super::session::{BodyWrites, NewRecord};
use super::super::claim::{MySqlClaimRequest, MySqlHeldClaim};
use super::{NOW, PLACEHOLDER, attempt, bytes, definition, hash, is_at, is_it, value};
use crate::values::key::hex;

/// The statements that release the savepoint. They fail if it is gone.
pub(in super::super) struct Release {
    /// Sent before the check of the answers: what goes missing behind it is the server's doing, not the body's.
    pub(in super::super) leading: Vec<String>,
    /// Sent behind the check: to undo a body's writes may take long.
    pub(in super::super) following: String,
    /// The number of statements.
    pub(in super::super) length: usize,
}

/// Releases the savepoint. With [`BodyWrites::Discard`], rolls back the writes since then.
pub(in super::super) fn release_savepoint(
    request: &MySqlClaimRequest,
    body_writes: BodyWrites,
) -> Release {
    let savepoint = request.savepoint_name();
    let release = format!("RELEASE SAVEPOINT {savepoint}");
    match body_writes {
        BodyWrites::Keep => Release {
            leading: vec![release],
            following: String::new(),
            length: 1,
        },
        BodyWrites::Discard => Release {
            leading: Vec::new(),
            following: format!("ROLLBACK TO SAVEPOINT {savepoint}; {release}; "),
            length: 2,
        },
    }
}

/// Writes the record as [`write`] does. If the claim has not read the table's definition, shows it before the last
/// answer: the transaction holds the table in this form.
pub(in super::super) fn record(claim: &MySqlHeldClaim, record: &NewRecord<'_>) -> String {
    let request = &claim.request;
    let definition = if claim.dialect.unread {
        format!("{}; ", definition(&request.table))
    } else {
        String::new()
    };
    format!(
        "{}{}; {definition}{}",
        still_open(record),
        update(request, record),
        check(claim, record)
    )
}

/// Fails if Galera has undone the transaction meanwhile (see [`super::OPEN`]). A placeholder is undone with it; a record
/// that is replaced would still be there, and be replaced without the body's writes.
fn still_open(record: &NewRecord<'_>) -> String {
    match record.replaces {
        None => String::new(),
        Some(_) => format!("{}; ", super::fused::demand(IN_TRANSACTION)),
    }
}

/// Is true inside a transaction. MySQL cannot say.
const IN_TRANSACTION: &str = "1 /*M! AND @@in_transaction */";

/// Writes the record in place of the placeholder or of the reclaimable record seen, and answers whether it now
/// is there, whole.
pub(in super::super) fn write(claim: &MySqlHeldClaim, record: &NewRecord<'_>) -> String {
    let update = update(&claim.request, record);
    format!("{}{update}; {}", still_open(record), check(claim, record))
}

fn update(request: &MySqlClaimRequest, record: &NewRecord<'_>) -> String {
    let was = match record.replaces {
        None => format!(
            "status = {PLACEHOLDER} AND attempt_id = {}",
            attempt(request)
        ),
        Some(replaced) => format!("attempt_id = x'{replaced}' AND {}", reclaimable(NOW)),
    };
    format!(
        "UPDATE {} SET created_at = {NOW}, expires_at = {NOW} + {}, locked_until = NULL, session_id = NULL, \
         attempt_id = {}, attempt = {}, status = {}, fingerprint_version = {}, \
         codec = {}, operation = {}, fingerprint = {}, request = {}, result = {}, failure = {} \
         WHERE {} AND {was}",
        request.table,
        record.retention,
        attempt(request),
        record.attempt,
        record.status.code(),
        record.format.fingerprint_version,
        record.format.codec,
        bytes(record.operation.as_bytes()),
        value(hash(record)),
        value(record.request),
        value(record.result),
        value(record.failure),
        is_it("", &request.identity),
    )
}

/// Answers whether the record is there, whole: a trigger may have changed it, and a session that is not strict
/// cuts values that are too long. Answers too whether the session is where the claim was made: a body may have selected
/// another database, whose table has a record of the key.
fn check(claim: &MySqlHeldClaim, record: &NewRecord<'_>) -> String {
    let request = &claim.request;
    let here = match &claim.dialect.database_path {
        Some(path) => is_at(path),
        None => "1".to_owned(),
    };
    let digest = |payload: Option<&[u8]>| match payload {
        None => "NULL".to_owned(),
        Some(payload) => format!("'{}'", hex::lower(&Sha256::digest(payload))),
    };
    let id = attempt(request);
    format!(
        "SELECT ({here}) AS here, (attempt_id = {id}) AS ours, (attempt_id = {id} AND status = {} AND operation = {} \
         AND fingerprint <=> {} AND sha2(request, 256) <=> {} AND sha2(result, 256) <=> {} \
         AND sha2(failure, 256) <=> {}) AS whole FROM {} WHERE {} LIMIT 1",
        record.status.code(),
        bytes(record.operation.as_bytes()),
        value(hash(record)),
        digest(record.request),
        digest(record.result),
        digest(record.failure),
        request.table,
        is_it("", &request.identity),
    )
}
