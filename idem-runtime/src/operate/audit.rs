//! Who changed what, when and why: a row in the transaction of the change.

use super::error::OperateError;
use crate::stores::operate::{OperateSession, clock};
use crate::values::error::{Error, Field, SchemaFault};
use crate::values::key::text;

/// The name of the audit table.
pub const AUDIT_TABLE: &str = "idem_audit";

/// The longest name of an operator, in characters.
const ACTOR_MAX: usize = 255;

/// The longest reason, in characters.
const REASON_MAX: usize = 4_000;

/// Who makes a change, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    pub(super) actor: String,
    pub(super) reason: String,
}

impl Author {
    /// Creates an author: the name of a person or a program, at most 255 characters, and the reason, at most 4,000.
    ///
    /// # Errors
    /// [`OperateError::Name`] if one of them is blank, too long, or has a control character.
    pub fn new(actor: impl Into<String>, reason: impl Into<String>) -> Result<Self, OperateError> {
        let (actor, reason) = (actor.into(), reason.into());
        for (what, name, limit) in [
            ("name of the operator", &actor, ACTOR_MAX),
            ("reason", &reason, REASON_MAX),
        ] {
            // The field is not shown: this error has a name of its own.
            text::check(Field::Scope, name, limit)
                .map_err(|_| OperateError::Name { what, limit })?;
        }
        Ok(Self { actor, reason })
    }
}

/// What was changed: the names of a row of the audit table.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditedChange<'a> {
    /// The verb: `resolve`, `release`, `purge`, `forget`, `hold`, `lift`; of events `requeue`, `resume`, `drop`.
    pub action: &'a str,
    /// The table that was changed.
    pub on_table: &'a str,
    /// The namespace of the record.
    pub namespace: Option<&'a str>,
    /// The scope of the record, or of all that were forgotten; of events, their topic.
    pub scope: Option<&'a str>,
    /// The key of the record.
    pub key: Option<&'a str>,
    /// The id of the event.
    pub event_id: Option<&'a str>,
    /// What was before and after, as a JSON object without a payload.
    pub detail: &'a str,
}

/// Returns the audit table that belongs to a table: `idem_audit`, in its schema.
///
/// ```
/// assert_eq!(idem_runtime::operate::audit_table_of("app.idem_record"), "app.idem_audit");
/// ```
pub fn audit_table_of(table: &str) -> String {
    match table.split_once('.') {
        Some((schema, _)) => format!("{schema}.{AUDIT_TABLE}"),
        None => AUDIT_TABLE.to_owned(),
    }
}

/// Writes the row of a change, in the transaction that is open on `conn`.
///
/// # Errors
/// - [`OperateError::AuditTable`] if the table cannot take it.
/// - [`OperateError::Library`]: its variant lists what the database may refuse.
pub async fn audit<S: OperateSession>(
    conn: &mut S,
    author: &Author,
    change: &AuditedChange<'_>,
) -> Result<(), OperateError> {
    let table = audit_table_of(change.on_table);
    let now = clock(conn, &table).await?;
    let dialect = S::DIALECT;
    let optional =
        |name: Option<&str>| name.map_or_else(|| "NULL".to_owned(), |name| dialect.text(name));
    let statement = format!(
        "INSERT INTO {} (at, actor, account, action, on_table, namespace, scope, record_key, event_id, reason, detail) \
         VALUES ({}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {})",
        dialect.table(&table),
        dialect.time(now),
        dialect.text(&author.actor),
        dialect.account,
        dialect.text(change.action),
        dialect.text(change.on_table),
        optional(change.namespace),
        optional(change.scope),
        optional(change.key),
        optional(change.event_id),
        dialect.text(&author.reason),
        dialect.text(change.detail),
    );
    let written = conn.change(statement, &table).await;
    match written.map_err(|error| unfit(error, &table))? {
        1 => Ok(()),
        // A rule or a trigger has swallowed it.
        _ => Err(OperateError::AuditTable {
            table,
            found: "an INSERT writes no row",
        }),
    }
}

/// Returns the error of a statement on the audit table.
pub(super) fn unfit(error: Error, table: &str) -> OperateError {
    let found = match error {
        Error::Schema(SchemaFault::TableMissing { .. }) => "it does not exist",
        Error::Schema(SchemaFault::Columns { .. }) => "it lacks a column",
        other => return other.into(),
    };
    OperateError::AuditTable {
        table: table.to_owned(),
        found,
    }
}
