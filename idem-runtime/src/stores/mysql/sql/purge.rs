//! The statements of a purge.

use super::super::super::lease_sql::purgeable;
use super::super::super::session::Purgeable;
use super::{SELECT, clock, hold};
use crate::values::record::Timestamp;

/// Makes the next transaction lock only the rows that a batch deletes, and no gap between them.
pub(in super::super) const ISOLATION: &str = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";

/// Deletes one batch of purgeable records; does not touch leases, and skips locked rows. The join order is
/// fixed: the other one would lock the whole table. A session's `sql_safe_updates` and `max_join_size` are
/// meant for other statements. If there is a table of holds, they are locked first.
pub(in super::super) fn purge(
    table: &str,
    of: Purgeable,
    limit: u32,
    (now, has_holds): (Timestamp, bool),
) -> String {
    let (statuses, column, ago) = purgeable(of);
    let (lock, is_free) = if has_holds {
        (
            format!("{}; ", hold::lock(table)),
            format!("{} AND {}", hold::is_free(table), hold::has_lock(table)),
        )
    } else {
        (String::new(), String::new())
    };
    format!(
        "{lock}/*M! SET STATEMENT sql_safe_updates = 0, sql_big_selects = 1 FOR */ \
         DELETE /*+ SET_VAR(sql_safe_updates = 0) SET_VAR(sql_big_selects = 1) */ r FROM (SELECT namespace, scope, `key` FROM {table} \
         WHERE status IN ({statuses}) AND {column} <= {now} - {ago}{is_free} ORDER BY {column} LIMIT {limit} \
         FOR UPDATE SKIP LOCKED) AS purgeable STRAIGHT_JOIN {table} AS r \
         ON r.namespace = purgeable.namespace AND r.scope = purgeable.scope AND r.`key` = purgeable.`key`",
        now = now.as_micros(),
    )
}

/// Deletes a purge's batch in its own transaction.
pub(in super::super) fn purge_alone(
    table: &str,
    of: Purgeable,
    limit: u32,
    moment: (Timestamp, bool),
) -> String {
    format!(
        "{ISOLATION}; START TRANSACTION READ WRITE; {}; COMMIT AND NO CHAIN NO RELEASE",
        purge(table, of, limit, moment)
    )
}

/// Deletes one batch in its own transaction, behind the lock on the holds, which must outlive its statement. It fails
/// inside another transaction, and what it has begun is open if it fails otherwise.
pub(in super::super) fn purge_behind_holds(text: &str) -> String {
    format!(
        "SET TRANSACTION READ WRITE; START TRANSACTION READ WRITE; {text}; COMMIT AND NO CHAIN NO RELEASE"
    )
}

/// Returns the name of the lock that is the lead of a table's purge. It has at most 64 characters, and includes
/// the database.
fn lead_name(table: &str) -> String {
    format!("CONCAT('idem.', SHA1(CONCAT_WS('.', DATABASE(), '{table}')))")
}

/// Asks for the lead, whether there is a table of holds, and for the time.
pub(in super::super) fn lead(table: &str) -> String {
    let name = lead_name(table);
    let holds = hold::exists(table);
    format!(
        "{SELECT} GET_LOCK({name}, 0) AS lead, CAST({holds} AS SIGNED) AS holds LIMIT 1; {}",
        clock()
    )
}

/// Asks whether there is a table of holds, and for the time.
pub(in super::super) fn moment(table: &str) -> String {
    format!("{}; {}", hold::exist(table), clock())
}

/// Gives the lead up.
pub(in super::super) fn give_up_lead(table: &str) -> String {
    format!("DO RELEASE_LOCK({})", lead_name(table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_holds_a_batch_asks_for_none() {
        let text = |has_holds| {
            let moment = (Timestamp::from_micros(7), has_holds);
            purge("app.idem_record", Purgeable::Expired, 10, moment)
        };
        assert!(!text(false).contains("hold"));
        for part in [
            "LOCK IN SHARE MODE; ",
            "SELECT scope FROM app.idem_hold ",
            "app.idem_hold_lock WHERE id = 1)",
        ] {
            assert!(text(true).contains(part), "{part}");
        }
    }
}
