//! Forgets a scope: all that the table keeps of a tenant.

use serde_json::json;

use super::audit::{AuditedChange, Author, audit};
use super::error::OperateError;
use super::operator::{Operator, end};
use super::status::StoredStatus;
use crate::stores::Session as _;
use crate::stores::operate::{OperateBackend, OperateSession};
use crate::values::key::Scope;

/// The most records that one statement deletes.
const AT_ONCE: usize = 200;

/// The records of a scope, by what may become of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Forgotten {
    /// The number of completed, failed and released records: those that are deleted.
    pub records: u64,
    /// The number of records in progress.
    pub in_progress: u64,
    /// The number of unknown outcomes.
    pub unknown: u64,
    /// The number of records of any other status.
    pub other: u64,
}

impl Forgotten {
    fn refusal(self) -> Result<Self, OperateError> {
        let Self {
            in_progress,
            unknown,
            other,
            ..
        } = self;
        if in_progress + unknown + other == 0 {
            return Ok(self);
        }
        Err(OperateError::NotFinal {
            in_progress,
            unknown,
            other,
        })
    }
}

impl<DB: OperateBackend> Operator<DB> {
    /// Counts the records of a scope. Reads all of the table.
    ///
    /// # Errors
    /// [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn count_scope(&self, scope: &Scope) -> Result<Forgotten, OperateError> {
        let mut pooled = self.conn().await?;
        let done = self.count_scope_on(&mut pooled.conn, scope).await;
        pooled.give_back(done.is_ok()).await;
        done
    }

    /// Deletes all records of a scope, in every namespace, in one transaction: **a retry of any of them runs the body
    /// again.** Refuses if one is in progress or of unknown outcome.
    ///
    /// A call that is running in a transaction of its own has no record yet: it is not disturbed, and leaves its record.
    /// The outbox, the audit table and the archive keep what they have of the scope.
    ///
    /// # Errors
    /// - [`OperateError::Held`] if the scope is under a legal hold.
    /// - [`OperateError::NotFinal`] if the scope has a record in progress or of unknown outcome.
    /// - [`OperateError::Name`] for the scope of all callers, which is no tenant.
    /// - [`OperateError::AuditTable`] if the audit table cannot take the row.
    /// - [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn forget(&self, scope: &Scope, author: &Author) -> Result<Forgotten, OperateError> {
        if scope.is_global() {
            return Err(OperateError::Name {
                what: "scope",
                limit: crate::values::key::limits::SCOPE_MAX,
            });
        }
        let mut pooled = self.conn().await?;
        let done = self.forget_on(&mut pooled.conn, scope, author).await;
        pooled.give_back(done.is_ok()).await;
        done
    }

    async fn count_scope_on(
        &self,
        conn: &mut DB::Connection,
        scope: &Scope,
    ) -> Result<Forgotten, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let statement = format!(
            "SELECT {}, {} FROM {} WHERE scope = {} GROUP BY status",
            dialect.number_cell("status"),
            dialect.number_cell("count(*)"),
            self.full_table(),
            dialect.text(scope.as_str()),
        );
        let mut found = Forgotten::default();
        for row in conn.cells(statement, &self.table).await? {
            let code = row.number(0).and_then(|code| i16::try_from(code).ok());
            let status = StoredStatus::from_code(code.unwrap_or(-1));
            let records = row.number(1).map_or(0, i64::unsigned_abs);
            *match status {
                StoredStatus::IN_PROGRESS => &mut found.in_progress,
                StoredStatus::UNKNOWN => &mut found.unknown,
                status if status.is_final() => &mut found.records,
                _ => &mut found.other,
            } += records;
        }
        Ok(found)
    }

    async fn forget_on(
        &self,
        conn: &mut DB::Connection,
        scope: &Scope,
        author: &Author,
    ) -> Result<Forgotten, OperateError> {
        let mut tx = conn.open_to_change().await?;
        let done = async {
            if tx.is_held(&self.table, scope).await? {
                return Err(OperateError::Held);
            }
            self.count_scope_on(&mut tx, scope).await?.refusal()?;
            let mut records = 0;
            for statement in self.deletions(&mut tx, scope).await? {
                records += tx.change(statement, &self.table).await?;
            }
            let detail = json!({ "records": records }).to_string();
            let change = AuditedChange {
                action: "forget",
                on_table: &self.table,
                scope: Some(scope.as_str()),
                detail: &detail,
                ..AuditedChange::default()
            };
            audit(&mut *tx, author, &change).await?;
            Ok(Forgotten {
                records,
                ..Forgotten::default()
            })
        };
        let done = done.await;
        end(tx, done).await
    }

    /// Returns the statements that delete the records of a scope, each by its key: a DELETE that looks for them would lock
    /// every record that it passes, on MySQL and MariaDB. Whatever has begun since they were read is not final, and stays.
    async fn deletions(
        &self,
        conn: &mut DB::Connection,
        scope: &Scope,
    ) -> Result<Vec<String>, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let (table, of_scope) = (self.full_table(), dialect.text(scope.as_str()));
        let keys = format!(
            "SELECT {}, {} FROM {table} WHERE scope = {of_scope} AND status IN (1, 2, 5)",
            dialect.text_cell("namespace"),
            dialect.text_cell(dialect.key),
        );
        let keys = conn.cells(keys, &self.table).await?;
        let statements = keys.chunks(AT_ONCE).map(|keys| {
            let keys = keys.iter().map(|row| {
                format!(
                    "(namespace = {} AND scope = {of_scope} AND {} = {})",
                    dialect.text(row.text(0).unwrap_or_default()),
                    dialect.key,
                    dialect.text(row.text(1).unwrap_or_default()),
                )
            });
            let keys = keys.collect::<Vec<_>>().join(" OR ");
            format!("DELETE FROM {table} WHERE ({keys}) AND status IN (1, 2, 5)")
        });
        Ok(statements.collect())
    }
}
