//! Shows one record.

use std::fmt;

use super::error::OperateError;
use super::operator::Operator;
use super::read::{RecordKey, RecordSummary, WIDTH, columns, summary};
use crate::stores::operate::{OperateBackend, OperateSession, clock};
use crate::values::fingerprint::Fingerprint;
use crate::values::payload::versioned;
use crate::values::record::CODEC_JSON;

/// One record with its payloads, which may be personal data: `Debug` leaves them out.
#[derive(Clone)]
#[non_exhaustive]
pub struct RecordDetail {
    /// Everything but the payloads.
    pub summary: RecordSummary,
    /// The version of the fingerprint.
    pub fingerprint_version: i64,
    /// The hash of the request; `None` if the operation compares none.
    pub fingerprint: Option<Fingerprint>,
    /// The canonical request, if it was kept. The payloads are as they are stored: [`forms`](Self::forms) says how.
    pub request: Option<Vec<u8>>,
    /// The version of the result or of the failure: that of the handler (`result_version`) or of its error type that
    /// recorded it. `None` if there is neither, or if the payload is not JSON in clear.
    pub payload_version: Option<u16>,
    /// The result of a completed record.
    pub result: Option<Vec<u8>>,
    /// The failure of a failed record.
    pub failure: Option<Vec<u8>>,
}

impl fmt::Debug for RecordDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordDetail")
            .field("summary", &self.summary)
            .finish_non_exhaustive()
    }
}

impl RecordDetail {
    /// Takes the version off the payloads, if they are JSON.
    pub(super) fn split_versions(&mut self) {
        if self.summary.codec != i64::from(CODEC_JSON) {
            return;
        }
        for payload in [&mut self.result, &mut self.failure] {
            let split = payload.as_deref().map(versioned::split);
            if let Some((version, json)) = split {
                self.payload_version = Some(version);
                *payload = Some(json.to_vec());
            }
        }
    }
}

impl<DB: OperateBackend> Operator<DB> {
    /// Returns a record with its payloads; `None` if the key has none.
    ///
    /// # Errors
    /// [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn show(&self, key: &RecordKey) -> Result<Option<RecordDetail>, OperateError> {
        let mut pooled = self.conn().await?;
        let done = self.show_on(&mut pooled.conn, key).await;
        pooled.give_back(done.is_ok()).await;
        done
    }

    async fn show_on(
        &self,
        conn: &mut DB::Connection,
        key: &RecordKey,
    ) -> Result<Option<RecordDetail>, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let now = clock(conn, &self.table).await?;
        let bytes = ["fingerprint", "request", "result", "failure"];
        let bytes = bytes.map(|column| dialect.bytes_cell(column)).join(", ");
        let statement = format!(
            "SELECT {}, {}, {bytes} FROM {} WHERE {}",
            columns(&dialect),
            dialect.number_cell("fingerprint_version"),
            self.full_table(),
            key.condition(&dialect),
        );
        let rows = conn.cells(statement, &self.table).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let hash = row.bytes(WIDTH + 1).and_then(|hash| hash.try_into().ok());
        let mut record = RecordDetail {
            summary: summary(row, now)?,
            fingerprint_version: row.number(WIDTH).unwrap_or_default(),
            fingerprint: hash.map(Fingerprint::from_bytes),
            request: row.bytes(WIDTH + 2).filter(|request| !request.is_empty()),
            payload_version: None,
            result: row.bytes(WIDTH + 3),
            failure: row.bytes(WIDTH + 4),
        };
        record.split_versions();
        Ok(Some(record))
    }
}
