//! Messages that do in one what the plain path does in several. Nobody reads what they find before they write, so a
//! statement among them *fails* unless all is as the plain path would demand. It fails by a sum that no integer can
//! hold, under any SQL mode.

use super::super::super::session::NewRecord;
use super::super::claim::MySqlClaimRequest;
use super::{
    NO_CHAIN, OPEN, READ_ONLY, attempt, definition, insert_placeholder, is_at, is_it, upsert,
};
use crate::values::policy::Lease;
use crate::values::record::Status;

/// Begins, inserts the placeholder and sets the savepoint. Fails inside a transaction, and if there is a record or
/// another attempt's claim; and unless the transaction still stands at the end, in a session and on a server on which
/// the library may go on, in the database where the table was found fit.
pub(in super::super) fn begin_and_claim(request: &MySqlClaimRequest, fit_in: &str) -> String {
    let demand = demand(&format!(
        "{OPEN} AND {NO_CHAIN} AND NOT {READ_ONLY} AND {}",
        is_at(fit_in)
    ));
    format!(
        "SET TRANSACTION READ WRITE; START TRANSACTION READ WRITE; {}; {demand}",
        insert_placeholder(request)
    )
}

/// Inserts a lease's record, and shows the table's definition behind it. The INSERT commits itself: no part of the
/// message leaves a transaction open.
pub(in super::super) fn claim_lease(
    request: &MySqlClaimRequest,
    record: &NewRecord<'_>,
    lease: Lease,
    fit_in: &str,
) -> String {
    let demand = demand(&format!(
        "{COMMITS_ITSELF} AND NOT {READ_ONLY} AND {}",
        is_at(fit_in)
    ));
    format!(
        "SET TRANSACTION READ WRITE; {demand}; {}; {}",
        upsert(request, record, false, lease),
        definition(&request.table)
    )
}

/// Deletes the lease of an attempt whose body has not run.
pub(in super::super) fn withdraw_lease(request: &MySqlClaimRequest) -> String {
    format!(
        "DELETE FROM {} WHERE {} AND status = {} AND attempt_id = {}",
        request.table,
        is_it("", &request.identity),
        Status::InProgress.code(),
        attempt(request)
    )
}

/// Runs a statement that commits itself. Fails inside a transaction, and if the session holds writes back.
pub(in super::super) fn write_alone(text: &str) -> String {
    format!(
        "SET TRANSACTION READ WRITE; {}; {text}",
        demand(COMMITS_ITSELF)
    )
}

/// Is true if a statement outside any transaction is committed with it.
const COMMITS_ITSELF: &str = "@@autocommit";

/// Fails unless the condition is true.
pub(super) fn demand(condition: &str) -> String {
    format!("SELECT 18446744073709551615 + IF({condition}, 0, 1) AS met LIMIT 1")
}
