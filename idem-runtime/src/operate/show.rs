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
    /// The codec of the payloads, 1 for JSON.
    pub codec: i64,
    /// The hash of the request; `None` if the operation compares none.
    pub fingerprint: Option<Fingerprint>,
    /// The canonical request, if it was kept.
    pub request: Option<Vec<u8>>,
    /// The version of the result or of the failure: that of the handler (`result_version`) or of its error type that
    /// recorded it. `None` if there is neither, or in a codec that this build does not know.
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
            "SELECT {}, {}, {}, {bytes} FROM {} WHERE {}",
            columns(&dialect),
            dialect.number_cell("fingerprint_version"),
            dialect.number_cell("codec"),
            self.full_table(),
            key.condition(&dialect),
        );
        let rows = conn.cells(statement, &self.table).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let hash = row.bytes(WIDTH + 2).and_then(|hash| hash.try_into().ok());
        let codec = row.number(WIDTH + 1).unwrap_or_default();
        let (mut result, mut failure) = (row.bytes(WIDTH + 4), row.bytes(WIDTH + 5));
        let mut payload_version = None;
        if codec == i64::from(CODEC_JSON) {
            for payload in [&mut result, &mut failure] {
                let split = payload.as_deref().map(versioned::split);
                if let Some((version, json)) = split {
                    payload_version = Some(version);
                    *payload = Some(json.to_vec());
                }
            }
        }
        Ok(Some(RecordDetail {
            summary: summary(row, now)?,
            fingerprint_version: row.number(WIDTH).unwrap_or_default(),
            codec,
            fingerprint: hash.map(Fingerprint::from_bytes),
            request: row.bytes(WIDTH + 3).filter(|request| !request.is_empty()),
            payload_version,
            result,
            failure,
        }))
    }
}
