//! The statements behind the body: release the savepoint, write the record, and what belongs to that.

use sha2::{Digest as _, Sha256};

use super::super::super::lease_sql::reclaimable;
use super::super::super::session::{BodyWrites, NewRecord};
use super::super::claim::{MySqlClaimRequest, MySqlHeldClaim};
use super::{NOW, PLACEHOLDER, attempt, bytes, definition, hash, is_at, is_it, value};
use crate::values::key::hex;

/// Fails if the savepoint is gone. With `body_writes`, rolls back the writes since then.
pub(in super::super) fn release_savepoint(
    request: &MySqlClaimRequest,
    body_writes: BodyWrites,
) -> Vec<String> {
    let savepoint = request.savepoint_name();
    let release = format!("RELEASE SAVEPOINT {savepoint}");
    match body_writes {
        BodyWrites::Keep => vec![release],
        BodyWrites::Discard => vec![format!("ROLLBACK TO SAVEPOINT {savepoint}"), release],
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
        "{}; {definition}{}",
        update(request, record),
        check(claim, record)
    )
}

/// Writes the record in place of the placeholder or of the reclaimable record seen, and answers whether it now
/// is there, whole.
pub(in super::super) fn write(claim: &MySqlHeldClaim, record: &NewRecord<'_>) -> String {
    let update = update(&claim.request, record);
    format!("{update}; {}", check(claim, record))
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
