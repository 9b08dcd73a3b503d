//! The operator: a table, and a pool to reach it through.

use std::borrow::Cow;
use std::fmt;

use sqlx::{Pool, Transaction};

use super::audit::audit_table_of;
use super::error::OperateError;
use crate::calls::kit::pooled_conn::PooledConn;
use crate::stores::leased::certain;
use crate::stores::operate::{OperateBackend, OperateSession};
use crate::values::error::{Error, Field, Invalid, Reason};
use crate::values::spec::{DEFAULT_TABLE, is_table};

/// Works on the records of one table.
pub struct Operator<DB: OperateBackend> {
    pub(super) pool: Pool<DB>,
    pub(super) table: Cow<'static, str>,
}

impl<DB: OperateBackend> Operator<DB> {
    /// Creates an operator for the default table.
    pub fn new(pool: Pool<DB>) -> Self {
        Self {
            pool,
            table: Cow::Borrowed(DEFAULT_TABLE),
        }
    }

    /// Sets another table: `[schema.]name`, each `[a-z_][a-z0-9_]*`, the schema of at most 63 bytes and the name of at
    /// most 61.
    ///
    /// # Errors
    /// [`Invalid`] of [`Field::Table`] if the text is no such identifier, because it is spliced into SQL text.
    pub fn table(mut self, table: &str) -> Result<Self, Invalid> {
        if !is_table(table) {
            return Err(Invalid::new(Field::Table, Reason::Identifier));
        }
        self.table = Cow::Owned(table.to_owned());
        Ok(self)
    }

    /// Returns the table of the records.
    pub fn table_name(&self) -> &str {
        &self.table
    }

    /// Returns the audit table: `idem_audit`, in the schema of the records.
    pub fn audit_table(&self) -> String {
        audit_table_of(&self.table)
    }

    pub(super) async fn conn(&self) -> Result<PooledConn<DB>, Error> {
        PooledConn::from(&self.pool).await
    }

    /// The name of the table, as a statement names it.
    pub(super) fn full_table(&self) -> String {
        <DB::Connection as OperateSession>::DIALECT.table(&self.table)
    }
}

impl<DB: OperateBackend> fmt::Debug for Operator<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operator")
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}

/// Commits what was done, or rolls it back and returns why.
pub(super) async fn end<DB: OperateBackend, T>(
    tx: Transaction<'_, DB>,
    done: Result<T, OperateError>,
) -> Result<T, OperateError> {
    match done {
        Ok(answer) => {
            DB::commit(tx).await.map_err(certain)?;
            Ok(answer)
        }
        Err(error) => {
            // If the ROLLBACK fails, the end of the session rolls back.
            let _ = DB::roll_back(tx).await;
            Err(error)
        }
    }
}
