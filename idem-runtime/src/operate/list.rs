//! Lists records.

use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::error::OperateError;
use super::operator::Operator;
use super::read::{RecordSummary, columns, leases, summary};
use super::status::StoredStatus;
use crate::stores::operate::{Dialect, OperateBackend, OperateSession, clock};
use crate::values::key::hex;
use crate::values::record::Timestamp;

/// Which records to list. The default is the first 50 of all.
#[derive(Debug, Clone)]
pub struct Filter {
    /// Their statuses; all if empty.
    pub statuses: Vec<StoredStatus>,
    /// Their namespace.
    pub namespace: Option<String>,
    /// Their operation.
    pub operation: Option<String>,
    /// Their scope; the empty text is that of all callers.
    pub scope: Option<String>,
    /// Their key.
    pub key: Option<String>,
    /// The first 12 hexadecimal digits of the SHA-256 of their key, as events have them.
    pub key_hash: Option<String>,
    /// The shortest time since they were written.
    pub older_than: Option<Duration>,
    /// Whether only leases are meant that ended without an end of their attempt.
    pub lapsed: bool,
    /// The greatest number of records.
    pub limit: u32,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            statuses: Vec::new(),
            namespace: None,
            operation: None,
            scope: None,
            key: None,
            key_hash: None,
            older_than: None,
            lapsed: false,
            limit: 50,
        }
    }
}

impl Filter {
    fn condition(&self, dialect: &Dialect, now: Timestamp) -> String {
        let mut all = Vec::new();
        for (column, value) in [
            ("namespace", &self.namespace),
            ("scope", &self.scope),
            (dialect.key, &self.key),
            ("operation", &self.operation),
        ] {
            all.extend(
                value
                    .as_ref()
                    .map(|value| format!("{column} = {}", dialect.text(value))),
            );
        }
        if self.leases_only() {
            all.push(leases(dialect));
        }
        if !self.statuses.is_empty() {
            let codes: Vec<_> = self
                .statuses
                .iter()
                .map(|status| status.code().to_string())
                .collect();
            all.push(format!("status IN ({})", codes.join(", ")));
        }
        if let Some(hash) = &self.key_hash
            && let Some(computed) = dialect.key_hash
        {
            all.push(format!("{computed} = {}", dialect.text(hash)));
        }
        if let Some(age) = self.older_than {
            let micros = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
            let before = Timestamp::from_micros(now.as_micros().saturating_sub(micros));
            all.push(format!("created_at <= {}", dialect.time(before)));
        }
        if self.lapsed {
            let code = StoredStatus::IN_PROGRESS.code();
            all.push(format!(
                "status = {code} AND locked_until <= {}",
                dialect.time(now)
            ));
        }
        if all.is_empty() {
            "1 = 1".to_owned()
        } else {
            all.join(" AND ")
        }
    }

    /// Whether all that are meant are leases, which have an index of their own.
    fn leases_only(&self) -> bool {
        let are_leases = |status: &StoredStatus| {
            [StoredStatus::IN_PROGRESS, StoredStatus::UNKNOWN].contains(status)
        };
        self.lapsed || (!self.statuses.is_empty() && self.statuses.iter().all(are_leases))
    }
}

/// Returns the first 12 hexadecimal digits of the SHA-256 of a key.
pub(super) fn key_hash(key: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(key.as_bytes()).into();
    hex::lower(&digest[..6])
}

impl<DB: OperateBackend> Operator<DB> {
    /// Returns records. Leases come first, the oldest lapse before the others; then the records that are kept longest.
    ///
    /// # Errors
    /// [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn list(&self, filter: &Filter) -> Result<Vec<RecordSummary>, OperateError> {
        let mut pooled = self.conn().await?;
        let done = self.list_on(&mut pooled.conn, filter).await;
        pooled.give_back(done.is_ok()).await;
        done
    }

    async fn list_on(
        &self,
        conn: &mut DB::Connection,
        filter: &Filter,
    ) -> Result<Vec<RecordSummary>, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let now = clock(conn, &self.table).await?;
        let order = if filter.leases_only() {
            "locked_until"
        } else {
            "expires_at DESC"
        };
        // Where the database cannot hash, all keys are read, and hashed here.
        let hash = filter
            .key_hash
            .as_ref()
            .filter(|_| dialect.key_hash.is_none());
        let limit = match hash {
            Some(_) => String::new(),
            None => format!(" LIMIT {}", filter.limit),
        };
        let statement = format!(
            "SELECT {} FROM {} WHERE {} ORDER BY {order}, namespace, scope, {}{limit}",
            columns(&dialect),
            self.full_table(),
            filter.condition(&dialect, now),
            dialect.key,
        );
        let rows = conn.cells(statement, &self.table).await?;
        let meant = rows.iter().filter(|row| match hash {
            Some(hash) => row.text(2).is_some_and(|key| key_hash(key) == *hash),
            None => true,
        });
        let limit = usize::try_from(filter.limit).unwrap_or(usize::MAX);
        let listed: Result<Vec<_>, _> = meant.take(limit).map(|row| summary(row, now)).collect();
        Ok(listed?)
    }
}
