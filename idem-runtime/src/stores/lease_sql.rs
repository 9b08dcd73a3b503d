//! The statements of lease mode, as far as all databases share them.
//!
//! A dialect supplies the form of values and times ([`LeaseDialect`], [`LeaseValues`]); the columns, the
//! assignments and the conditions are here.

pub(super) use super::session::purgeable;
use crate::decision::Change;
use crate::values::policy::OnLapse;
use crate::values::record::{RecordFormat, Status};

/// The dialect's spelling of the parts that all of these statements have.
pub(super) struct LeaseDialect {
    /// The start of an INSERT into a table.
    pub(super) insert: &'static str,
    /// The start of an UPDATE of a table.
    pub(super) update: &'static str,
    /// The column `key`.
    pub(super) key: &'static str,
    /// The column `status`, as a change of one record compares it.
    pub(super) status: &'static str,
    /// The database's clock.
    pub(super) now: &'static str,
    /// The time at which nothing expires.
    pub(super) never: &'static str,
    /// One microsecond, as a factor after a number; empty if times are numbers.
    pub(super) microsecond: &'static str,
    /// A source of one row, for an UPDATE that sets two columns to the same moment, and that moment.
    pub(super) clock: (&'static str, &'static str),
}

/// The values of a lease's record, as the dialect's text.
pub(super) struct LeaseValues<T> {
    pub(super) namespace: T,
    pub(super) scope: T,
    pub(super) key: T,
    pub(super) lease: T,
    pub(super) attempt_id: T,
    pub(super) attempt: T,
    pub(super) operation: T,
    pub(super) fingerprint: T,
    pub(super) request: T,
    pub(super) on_lapse: T,
}

/// The values of a write after the claim, as the dialect's text.
pub(super) struct WriteValues<T> {
    pub(super) expected: T,
    pub(super) becomes: T,
    pub(super) lasts: T,
    pub(super) result: T,
    pub(super) failure: T,
}

impl LeaseDialect {
    fn later(&self, from: &str, micros: &str) -> String {
        format!("{from} + {micros}{}", self.microsecond)
    }

    /// Inserts the record of a key that has none. The primary key arbitrates. `rows` is the text around the
    /// values: empty, or a condition.
    pub(super) fn insert(
        &self,
        table: &str,
        values: &LeaseValues<String>,
        format: RecordFormat,
        rows: (&str, &str),
    ) -> String {
        let (before, behind) = rows;
        let LeaseDialect {
            insert,
            key: key_column,
            now,
            never,
            ..
        } = self;
        let LeaseValues {
            namespace,
            scope,
            key,
            lease,
            attempt_id,
            attempt,
            operation,
            fingerprint,
            request,
            on_lapse,
        } = values;
        let until = self.later(now, lease);
        let status = Status::InProgress.code();
        format!(
            "{insert} {table} (namespace, scope, {key_column}, created_at, expires_at, locked_until, attempt_id, \
             attempt, status, fingerprint_version, codec, operation, fingerprint, request, on_lapse) \
             {before}{namespace}, {scope}, {key}, {now}, {never}, {until}, {attempt_id}, {attempt}, {status}, \
             {}, {}, {operation}, {fingerprint}, {request}, {on_lapse}{behind}",
            format.fingerprint_version, format.codec,
        )
    }

    /// Replaces the record that `is_replaced` finds, if that is still reclaimable, or (taking over) lapsed.
    /// `also` are the dialect's own assignments.
    pub(super) fn replace(
        &self,
        table: &str,
        values: &LeaseValues<String>,
        format: RecordFormat,
        (also, is_replaced): (&str, &str),
        take_over: bool,
    ) -> String {
        let LeaseDialect {
            update,
            now,
            never,
            status: compared,
            ..
        } = self;
        let LeaseValues {
            lease,
            attempt_id,
            attempt,
            operation,
            fingerprint,
            request,
            on_lapse,
            ..
        } = values;
        let until = self.later(now, lease);
        let status = Status::InProgress.code();
        let guard = if take_over {
            condition(compared, Change::TakeOver, now)
        } else {
            reclaimable(now)
        };
        format!(
            "{update} {table} SET created_at = {now}, expires_at = {never}, locked_until = {until}, {also}\
             attempt_id = {attempt_id}, attempt = {attempt}, status = {status}, \
             fingerprint_version = {}, codec = {}, operation = {operation}, \
             fingerprint = {fingerprint}, request = {request}, result = NULL, failure = NULL, \
             on_lapse = {on_lapse} WHERE {is_replaced} AND {guard}",
            format.fingerprint_version, format.codec,
        )
    }

    /// Changes the record that `is_it` finds, if its attempt and its status are the expected ones.
    pub(super) fn change(
        &self,
        table: &str,
        (change, codec): (Change, i16),
        values: &WriteValues<String>,
        is_it: &str,
    ) -> String {
        let LeaseDialect { update, now, .. } = self;
        let WriteValues {
            expected,
            becomes,
            lasts,
            ..
        } = values;
        let (clock, moment) = self.clock;
        let set = match change {
            Change::Extend => format!(", locked_until = {}", self.later(now, lasts)),
            Change::Doubt | Change::Lapse | Change::TakeOver => String::new(),
            Change::Complete
            | Change::Fail
            | Change::Release
            | Change::LapseReleased
            | Change::Settle(_) => format!(
                ", created_at = {moment}, expires_at = {}, locked_until = NULL{}, result = {}, failure = {}",
                self.later(moment, lasts),
                // Of a released record the request alone is kept, in the codec that it has.
                match change.to() {
                    Status::Released => String::new(),
                    _ => format!(", codec = {codec}"),
                },
                values.result,
                values.failure,
            ),
        };
        format!(
            "{update} {table} SET attempt_id = {becomes}, status = {}{set}{clock} \
             WHERE {is_it} AND attempt_id = {expected} AND {}",
            change.to().code(),
            condition(self.status, change, now),
        )
    }
}

/// Returns whether the statement of a change has a value for how long the record lasts, and values for a
/// result and a failure.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(super) fn values_of(change: Change) -> (bool, bool) {
    match change {
        Change::Extend => (true, false),
        Change::Doubt | Change::Lapse | Change::TakeOver => (false, false),
        Change::Complete
        | Change::Fail
        | Change::Release
        | Change::LapseReleased
        | Change::Settle(_) => (true, true),
    }
}

/// Returns the condition under which a new attempt of the same request may replace a record: it was
/// released, or it is past its retention. `now` is the dialect's clock.
pub(super) fn reclaimable(now: &str) -> String {
    reclaimable_of("", now)
}

/// Returns the same condition on the columns of `row` (`"r."`).
pub(super) fn reclaimable_of(row: &str, now: &str) -> String {
    let released = Status::Released.code();
    let (completed, failed) = (Status::Completed.code(), Status::Failed.code());
    format!(
        "({row}status = {released} OR ({row}status IN ({completed}, {failed}) AND {row}expires_at <= {now}))"
    )
}

/// Returns the condition on an outcome that somebody must settle: it is unknown, or nobody has yet seen that its
/// lease lapsed.
#[cfg(feature = "metrics")]
pub(super) fn is_to_be_settled() -> String {
    let (unknown, in_progress) = (Status::Unknown.code(), Status::InProgress.code());
    let becomes_unknown = OnLapse::Unknown.code();
    format!("(status = {unknown} OR status = {in_progress} AND on_lapse = {becomes_unknown})")
}

/// Returns the condition on a record in progress whose attempt may be repeated once its lease has lapsed; `row` is
/// `"r."`.
pub(super) fn is_to_be_retried(row: &str) -> String {
    let (in_progress, retries) = (Status::InProgress.code(), OnLapse::Retry.code());
    format!("{row}status = {in_progress} AND {row}on_lapse = {retries}")
}

/// Returns the assignments to a lapsed lease, by the policy under which it was claimed. A released record gets
/// another attempt's id. This fences its owner off, who may still ask for the answer to its claim.
pub(super) fn lapsed(expires: &str, becomes: &str) -> String {
    let retries = format!("on_lapse = {}", OnLapse::Retry.code());
    format!(
        "attempt_id = CASE WHEN {retries} THEN {becomes} ELSE attempt_id END, \
         status = CASE WHEN {retries} THEN {} ELSE {} END, \
         expires_at = CASE WHEN {retries} THEN {expires} ELSE expires_at END, \
         locked_until = CASE WHEN {retries} THEN NULL ELSE locked_until END",
        Change::LapseReleased.to().code(),
        Change::Lapse.to().code(),
    )
}

/// Returns the condition of a change on status and lapse; the identity and the attempt are checked beside it.
/// `status` is the column, and `now` the dialect's clock.
pub(super) fn condition(status: &str, change: Change, now: &str) -> String {
    let from: Vec<_> = change
        .from()
        .iter()
        .map(|status| status.code().to_string())
        .collect();
    let lapsed = if change.wants_lapsed() {
        format!(" AND locked_until <= {now}")
    } else {
        String::new()
    };
    format!("{status} IN ({}){lapsed}", from.join(", "))
}
