//! Legal holds: what of a scope is kept, whatever its retention.

use serde_json::json;

use super::audit::{AuditedChange, Author, audit};
use super::error::OperateError;
use super::operator::{Operator, end};
use crate::stores::Session as _;
use crate::stores::hold::{hold_table_of, lock_table_of};
use crate::stores::operate::{Cells, OperateBackend, OperateSession, clock};
use crate::values::error::Error;
use crate::values::key::Scope;
use crate::values::record::Timestamp;

/// A legal hold on a scope.
///
/// `Debug` shows neither the scope nor the reason.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hold {
    /// The scope; the empty text is [`Scope::GLOBAL`].
    pub scope: String,
    /// When it was placed.
    pub at: Timestamp,
    /// Who placed it: the name that the operator gave.
    pub actor: String,
    /// Why.
    pub reason: String,
}

impl std::fmt::Debug for Hold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hold")
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

impl<DB: OperateBackend> Operator<DB> {
    /// Places a legal hold on a scope, in every namespace and for every table of records in the schema: from then on no purge,
    /// no [`forget`](Self::forget) and no strict expiry deletes or replaces its records, and its rows of the archive stay.
    ///
    /// A record of a released key still becomes that of its next attempt, and an unknown outcome can be resolved. Waits for the
    /// batches and calls that have read the holds before; on SQLite, for the writers of the file.
    ///
    /// # Errors
    /// - [`OperateError::AlreadyHeld`] if there is one.
    /// - [`OperateError::HoldTable`] if there is no table of holds, or on MySQL and MariaDB the comment of the table of records
    ///   does not name it.
    /// - [`OperateError::AuditTable`] if the audit table cannot take the row.
    /// - [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn add_hold(&self, scope: &Scope, author: &Author) -> Result<(), OperateError> {
        self.change_hold(scope, true, author).await
    }

    /// Lifts the legal hold on a scope: records past their retention are deleted by the next purge.
    ///
    /// # Errors
    /// - [`OperateError::NotHeld`] if there is none.
    /// - [`OperateError::HoldTable`], as for [`add_hold`](Self::add_hold).
    /// - [`OperateError::AuditTable`] if the audit table cannot take the row.
    /// - [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn lift_hold(&self, scope: &Scope, author: &Author) -> Result<(), OperateError> {
        self.change_hold(scope, false, author).await
    }

    /// Returns the legal holds, the oldest first.
    ///
    /// # Errors
    /// - [`OperateError::HoldTable`], as for [`add_hold`](Self::add_hold).
    /// - [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn holds(&self) -> Result<Vec<Hold>, OperateError> {
        let mut pooled = self.conn().await?;
        let done = self.holds_on(&mut pooled.conn).await;
        pooled.give_back(done.is_ok()).await;
        done
    }

    async fn holds_on(&self, conn: &mut DB::Connection) -> Result<Vec<Hold>, OperateError> {
        self.check_holds(conn).await?;
        let (dialect, table) = (
            <DB::Connection as OperateSession>::DIALECT,
            hold_table_of(&self.table),
        );
        let statement = format!(
            "SELECT {}, {}, {}, {} FROM {} ORDER BY at, scope",
            dialect.text_cell("scope"),
            dialect.time_cell("at"),
            dialect.text_cell("actor"),
            dialect.text_cell("reason"),
            dialect.table(&table),
        );
        let rows = conn.cells(statement, &table).await?;
        let holds: Option<Vec<_>> = rows.iter().map(hold).collect();
        holds.ok_or_else(|| {
            let what = "column of a legal hold, which this build cannot read; its number";
            Error::UnknownState { what, value: 0 }.into()
        })
    }

    async fn check_holds(&self, conn: &mut DB::Connection) -> Result<(), OperateError> {
        if conn.has_holds(&self.table).await? {
            return Ok(());
        }
        Err(OperateError::HoldTable {
            table: hold_table_of(&self.table),
            records: self.table.to_string(),
        })
    }

    async fn change_hold(
        &self,
        scope: &Scope,
        placed: bool,
        author: &Author,
    ) -> Result<(), OperateError> {
        let mut pooled = self.conn().await?;
        let done = self
            .change_hold_on(&mut pooled.conn, scope, placed, author)
            .await;
        pooled.give_back(done.is_ok()).await;
        done
    }

    async fn change_hold_on(
        &self,
        conn: &mut DB::Connection,
        scope: &Scope,
        placed: bool,
        author: &Author,
    ) -> Result<(), OperateError> {
        let mut tx = conn.open_to_change().await?;
        let done = async {
            self.check_holds(&mut tx).await?;
            self.lock_exclusively(&mut tx).await?;
            let changed = if placed {
                self.insert_hold(&mut tx, scope, author).await?
            } else {
                self.delete_hold(&mut tx, scope).await?
            };
            if changed != 1 {
                return Err(if placed {
                    OperateError::AlreadyHeld
                } else {
                    OperateError::NotHeld
                });
            }
            let detail = json!({ "held": placed }).to_string();
            let change = AuditedChange {
                action: if placed { "hold" } else { "lift" },
                on_table: &self.table,
                scope: Some(scope.as_str()),
                detail: &detail,
                ..AuditedChange::default()
            };
            audit(&mut *tx, author, &change).await
        };
        let done = done.await;
        end(tx, done).await
    }

    /// Waits for all who have read the holds, and keeps others from reading them until the end of the transaction.
    async fn lock_exclusively(&self, conn: &mut DB::Connection) -> Result<(), OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        if !dialect.locks_holds {
            return Ok(());
        }
        let table = lock_table_of(&self.table);
        let statement = format!(
            "UPDATE {} SET changes = changes + 1 WHERE id = 1",
            dialect.table(&table)
        );
        if conn.change(statement, &table).await? == 1 {
            return Ok(());
        }
        Err(OperateError::HoldTable {
            table,
            records: self.table.to_string(),
        })
    }

    async fn insert_hold(
        &self,
        conn: &mut DB::Connection,
        scope: &Scope,
        author: &Author,
    ) -> Result<u64, OperateError> {
        let (dialect, table) = (
            <DB::Connection as OperateSession>::DIALECT,
            hold_table_of(&self.table),
        );
        let now = clock(conn, &table).await?;
        let (name, scope) = (dialect.table(&table), dialect.text(scope.as_str()));
        let statement = format!(
            "INSERT INTO {name} (scope, at, actor, account, reason) SELECT {scope}, {}, {}, {}, {} \
             FROM (SELECT count(*) AS held FROM {name} WHERE scope = {scope}) AS found WHERE held = 0",
            dialect.time(now),
            dialect.text(&author.actor),
            dialect.account,
            dialect.text(&author.reason),
        );
        Ok(conn.change(statement, &table).await?)
    }

    async fn delete_hold(
        &self,
        conn: &mut DB::Connection,
        scope: &Scope,
    ) -> Result<u64, OperateError> {
        let (dialect, table) = (
            <DB::Connection as OperateSession>::DIALECT,
            hold_table_of(&self.table),
        );
        let statement = format!(
            "DELETE FROM {} WHERE scope = {}",
            dialect.table(&table),
            dialect.text(scope.as_str())
        );
        Ok(conn.change(statement, &table).await?)
    }
}

fn hold(row: &Cells) -> Option<Hold> {
    Some(Hold {
        scope: row.text(0)?.to_owned(),
        at: row.time(1)?,
        actor: row.text(2)?.to_owned(),
        reason: row.text(3)?.to_owned(),
    })
}
