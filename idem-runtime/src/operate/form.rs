//! The form of a payload that is not plain JSON.

#[cfg(any(feature = "encrypt", feature = "zstd"))]
use super::error::OperateError;
use super::show::RecordDetail;
#[cfg(any(feature = "encrypt", feature = "zstd"))]
use crate::values::codec::{Binding, Codec, Column};
use crate::values::envelope::{CODEC_ENVELOPE, Envelope};
use crate::values::record::CODEC_JSON;

/// The form in which the table holds a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PayloadForm {
    /// JSON in clear.
    Json,
    /// A zstd frame.
    Compressed,
    /// Encrypted by AES-256-GCM-SIV under the key with this id.
    Encrypted {
        /// The id of the key.
        key_id: u32,
    },
    /// Of a codec, or a form, that this build does not know.
    Unknown,
}

impl PayloadForm {
    /// Returns the form of a payload in a record of this codec. It needs no key.
    pub fn of(codec: i64, payload: &[u8]) -> Self {
        if codec == i64::from(CODEC_JSON) {
            return Self::Json;
        }
        if codec != i64::from(CODEC_ENVELOPE) {
            return Self::Unknown;
        }
        match Envelope::read(payload) {
            Ok(Envelope::Clear(_)) => Self::Json,
            Ok(Envelope::Compressed(_)) => Self::Compressed,
            Ok(Envelope::Encrypted { key_id, .. }) => Self::Encrypted { key_id },
            Err(_) => Self::Unknown,
        }
    }
}

impl RecordDetail {
    /// Returns the forms of request, result and failure, as far as the record has them.
    pub fn forms(&self) -> [Option<PayloadForm>; 3] {
        [&self.request, &self.result, &self.failure]
            .map(|payload| Some(PayloadForm::of(self.summary.codec, payload.as_deref()?)))
    }

    /// Opens the payloads by the codec of their operation.
    ///
    /// # Errors
    /// [`Error::Codec`](crate::Error::Codec) if nothing is installed in the codec, or it does not open a payload.
    #[cfg(any(feature = "encrypt", feature = "zstd"))]
    pub fn open(mut self, codec: &Codec) -> Result<Self, OperateError> {
        let protection = codec.protection()?;
        let identity = self.summary.record_key.identity()?;
        let number = i16::try_from(self.summary.codec).unwrap_or_default();
        let operation = self.summary.operation.clone();
        let binding = Binding {
            identity: &identity,
            operation: &operation,
        };
        for (column, payload) in [
            (Column::Request, &mut self.request),
            (Column::Result, &mut self.result),
            (Column::Failure, &mut self.failure),
        ] {
            if let Some(stored) = payload {
                *payload = Some(protection.open(binding, column, number, stored)?);
            }
        }
        self.summary.codec = CODEC_JSON.into();
        self.split_versions();
        Ok(self)
    }
}
