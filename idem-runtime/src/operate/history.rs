//! Reads the audit table.

use std::fmt;

use super::audit::{audit_table_of, unfit};
use super::error::OperateError;
use super::operator::Operator;
use super::read::RecordKey;
use crate::stores::operate::{Cells, OperateBackend, OperateSession};
use crate::values::record::Timestamp;

/// A row of the audit table: who changed what, when and why.
///
/// `Debug` leaves out names and reason: they may be personal data.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditRow {
    /// When, by the database's clock.
    pub at: Option<Timestamp>,
    /// Who, by the name that was given.
    pub actor: String,
    /// The account of the session, where the database has accounts.
    pub account: Option<String>,
    /// The verb.
    pub action: String,
    /// The table that was changed.
    pub on_table: String,
    /// The namespace of the record.
    pub namespace: Option<String>,
    /// The scope of the record; of events, their topic.
    pub scope: Option<String>,
    /// The key of the record.
    pub key: Option<String>,
    /// The id of the event.
    pub event_id: Option<String>,
    /// Why.
    pub reason: String,
    /// What was before and after, as a JSON object.
    pub detail: String,
}

impl fmt::Debug for AuditRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditRow")
            .field("at", &self.at)
            .field("action", &self.action)
            .field("on_table", &self.on_table)
            .finish_non_exhaustive()
    }
}

impl<DB: OperateBackend> Operator<DB> {
    /// Returns the last changes of a record, the newest first, at most 100.
    ///
    /// # Errors
    /// - [`OperateError::AuditTable`] if there is no audit table.
    /// - [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn changes_of(&self, key: &RecordKey) -> Result<Vec<AuditRow>, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let condition = format!(
            "namespace = {} AND scope = {} AND record_key = {}",
            dialect.text(key.namespace()),
            dialect.text(key.scope()),
            dialect.text(key.key()),
        );
        self.audit_rows(&condition, 100).await
    }

    /// Returns the last changes of an event, the newest first, at most 100. Those of its whole topic are not among them.
    ///
    /// # Errors
    /// Those of [`changes_of`](Self::changes_of).
    pub async fn changes_of_event(&self, id: &str) -> Result<Vec<AuditRow>, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let condition = format!("event_id = {}", dialect.text(id));
        self.audit_rows(&condition, 100).await
    }

    /// Returns the last changes of anything, the newest first.
    ///
    /// # Errors
    /// Those of [`changes_of`](Self::changes_of).
    pub async fn latest_changes(&self, limit: u32) -> Result<Vec<AuditRow>, OperateError> {
        self.audit_rows("1 = 1", limit).await
    }

    async fn audit_rows(&self, condition: &str, limit: u32) -> Result<Vec<AuditRow>, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let table = audit_table_of(&self.table);
        let texts = [
            "actor",
            "account",
            "action",
            "on_table",
            "namespace",
            "scope",
            "record_key",
            "event_id",
            "reason",
            "detail",
        ];
        let statement = format!(
            "SELECT {}, {} FROM {} WHERE {condition} ORDER BY id DESC LIMIT {limit}",
            dialect.time_cell("at"),
            texts.map(|column| dialect.text_cell(column)).join(", "),
            dialect.table(&table),
        );
        let mut pooled = self.conn().await?;
        let rows = pooled.conn.cells(statement, &table).await;
        pooled.give_back(rows.is_ok()).await;
        let rows = rows.map_err(|error| unfit(error, &table))?;
        Ok(rows.iter().map(audit_row).collect())
    }
}

fn audit_row(row: &Cells) -> AuditRow {
    let optional = |column| row.text(column).map(str::to_owned);
    let text = |column| optional(column).unwrap_or_default();
    AuditRow {
        at: row.time(0),
        actor: text(1),
        account: optional(2),
        action: text(3),
        on_table: text(4),
        namespace: optional(5),
        scope: optional(6),
        key: optional(7),
        event_id: optional(8),
        reason: text(9),
        detail: text(10),
    }
}
