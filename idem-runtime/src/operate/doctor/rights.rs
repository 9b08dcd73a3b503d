//! What the account of the URL may do: each statement touches no row, and is rolled back.

use crate::operate::error::OperateError;
use crate::stores::doctor::{Finding, Severity};
use crate::stores::operate::{OperateBackend, OperateSession};
use crate::values::error::Error;

const COLUMNS: &str = "created_at, expires_at, locked_until, attempt_id, attempt, status, fingerprint_version, codec, \
     on_lapse, namespace, scope, operation, fingerprint, request, result, failure";

pub(super) async fn rights<DB: OperateBackend>(
    conn: &mut DB::Connection,
    table: &str,
) -> Result<Vec<Finding>, OperateError> {
    let dialect = <DB::Connection as OperateSession>::DIALECT;
    let (full, key) = (dialect.table(table), dialect.key);
    let probes = [
        (
            "INSERT",
            "claims and results",
            format!(
                "INSERT INTO {full} ({COLUMNS}, {key}) SELECT {COLUMNS}, {key} FROM {full} WHERE 1 = 0"
            ),
        ),
        (
            "UPDATE",
            "leases, strict expiry, `idem resolve` and `idem release`",
            format!("UPDATE {full} SET status = status WHERE 1 = 0"),
        ),
        (
            "DELETE",
            "the purge and `idem forget`",
            format!("DELETE FROM {full} WHERE 1 = 0"),
        ),
    ];
    let mut found = Vec::new();
    for (privilege, what, statement) in probes {
        let mut tx = match conn.open_to_change().await {
            Ok(tx) => tx,
            // A server that accepts no writes has a finding of its own.
            Err(Error::ReadOnly(_)) => return Ok(found),
            Err(error) => return Err(error.into()),
        };
        let allowed = tx.change(statement, table).await;
        // If the ROLLBACK fails, the end of the session rolls back.
        let _ = DB::roll_back(tx).await;
        match allowed {
            Ok(_) | Err(Error::ReadOnly(_)) => {}
            Err(_) => found.push(Finding::new(
                Severity::Warning,
                "rights",
                format!("the account of the URL may not {privilege}: that is needed for {what}"),
                format!(
                    "GRANT {privilege} ON {table} TO <the account>, if it serves calls or operators"
                ),
            )),
        }
    }
    Ok(found)
}
