//! Legal holds: what of a scope's records may be deleted or overwritten.
//!
//! A hold is a row of `idem_hold`, in the schema of the records. Whatever deletes a record past its retention, or replaces
//! it, first locks the row of `idem_hold_lock`, shared, until its transaction ends, and then reads the holds. Whoever places
//! a hold changes that row in the transaction of the hold. So it waits for all who have read the holds before, and all who
//! come later see it; a transaction whose snapshot is older fails, or reads the newest rows (MySQL). On SQLite the write
//! lock of the file does this.
//!
//! A record that is only changed, by the next attempt at a released key or by its owner, is not protected: it stays the
//! record of the same request.

use super::session::{RequestOf, Session};
use crate::decision::{DecideInput, Decision, KeyBefore, Lookup, decide};
use crate::values::error::Error;
use crate::values::policy::Expiry;

/// The name of the table of holds.
pub(crate) const HOLD_TABLE: &str = "idem_hold";

/// Returns the table of holds that belongs to a table of records: it is in the same schema.
pub(crate) fn hold_table_of(table: &str) -> String {
    match table.split_once('.') {
        Some((schema, _)) => format!("{schema}.{HOLD_TABLE}"),
        None => HOLD_TABLE.to_owned(),
    }
}

/// Returns the table whose only row is locked, of a table of holds.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "operate"))]
pub(crate) fn lock_table_of(table: &str) -> String {
    format!("{}_lock", hold_table_of(table))
}

/// Returns the error of a lock that has lost its row.
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(super) fn no_lock() -> Error {
    Error::UnknownState {
        what: "lock of the legal holds, whose row in `idem_hold_lock` is missing; their number",
        value: 0,
    }
}

/// Decides as [`decide`] does, inside the transaction of a claim. Under a hold on the scope a record does not expire: with
/// strict expiry too it is replayed, and compared.
pub(crate) async fn decide_held<S: Session>(
    conn: &mut S,
    request: &RequestOf<S>,
    lookup: Lookup,
    input: DecideInput<'_>,
) -> Result<Decision, Error> {
    let expires = input.expiry == Expiry::Strict;
    let again = expires.then(|| lookup.clone());
    let decision = decide(lookup, input);
    let (Some(lookup), true) = (again, takes_as_absent(&decision)) else {
        return Ok(decision);
    };
    let is_held = conn.is_held(&request.table, request.identity.scope());
    Ok(if is_held.await? {
        decide(lookup, input.without_expiry())
    } else {
        decision
    })
}

/// Whether an expired record may have counted as none. The claim may be this transaction's own, of an earlier look.
fn takes_as_absent(decision: &Decision) -> bool {
    matches!(
        decision,
        Decision::Run {
            before: KeyBefore::Expired,
            ..
        } | Decision::Refuse(Error::NestedSameKey)
    )
}
