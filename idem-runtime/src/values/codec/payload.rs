//! A payload on its way into the record and out of it.

use std::borrow::Cow;

#[cfg(feature = "encrypt")]
use super::cipher;
use super::column::{Binding, Column};
#[cfg(feature = "encrypt")]
use super::keyed;
use super::protection::Protection;
use crate::values::envelope::{CODEC_ENVELOPE, COMPRESSED, Envelope};
use crate::values::error::{CodecFault, Error};
use crate::values::fingerprint::{FINGERPRINT_KEYED, FINGERPRINT_VERSION, Fingerprint};
use crate::values::identity::Identity;
use crate::values::key::{IdempotencyKey, Scope};
use crate::values::record::{AttemptId, CODEC_JSON};

impl Protection {
    /// Returns the codec number of the records that are written.
    pub(crate) fn codec(&self) -> i16 {
        if self.writes_clear {
            CODEC_JSON
        } else {
            CODEC_ENVELOPE
        }
    }

    /// Returns the version of the fingerprints that are written.
    pub(crate) fn fingerprint_version(&self) -> i16 {
        #[cfg(feature = "encrypt")]
        if self.keys.is_some() && !self.writes_clear {
            return FINGERPRINT_KEYED;
        }
        let _ = self;
        FINGERPRINT_VERSION
    }

    /// Computes the fingerprint to write.
    pub(crate) fn fingerprint(
        &self,
        identity: &Identity,
        operation: &str,
        canonical: &[u8],
    ) -> Result<Fingerprint, Error> {
        #[cfg(feature = "encrypt")]
        if let Some(keys) = self.keys.as_ref().filter(|_| !self.writes_clear) {
            return Ok(keyed::current(keys, (identity, operation, canonical))?);
        }
        let _ = self;
        Fingerprint::current(identity.namespace(), operation, canonical)
    }

    /// Computes the fingerprint of a request as the recorded, keyed one was. `computed` is one under the current key.
    pub(crate) fn fingerprint_as(
        &self,
        recorded: Fingerprint,
        computed: Option<Fingerprint>,
        compared: (&Identity, &str, &[u8]),
    ) -> Result<Fingerprint, Error> {
        #[cfg(feature = "encrypt")]
        if let Some(keys) = &self.keys {
            return Ok(keyed::under_that_of(keys, recorded, computed, compared)?);
        }
        let _ = (self, recorded, computed, compared);
        Err(Error::UnknownState {
            what: "fingerprint version",
            value: FINGERPRINT_KEYED.into(),
        })
    }

    /// Returns scope and key as the table holds them.
    #[cfg_attr(
        not(feature = "encrypt"),
        allow(clippy::unnecessary_wraps, reason = "it can fail where it encrypts")
    )]
    pub(crate) fn stored(
        &self,
        namespace: &str,
        scope: Scope,
        key: IdempotencyKey,
    ) -> Result<(Scope, IdempotencyKey), Error> {
        #[cfg(feature = "encrypt")]
        if let Some(names) = &self.names {
            return names.hash(namespace, &scope, &key);
        }
        let _ = (self, namespace);
        Ok((scope, key))
    }

    /// Returns the payload as the record holds it.
    #[cfg_attr(
        not(feature = "encrypt"),
        allow(clippy::unnecessary_wraps, reason = "it can fail where it encrypts")
    )]
    pub(crate) fn protect<'b>(
        &self,
        binding: Binding<'_>,
        column: Column,
        attempt_id: AttemptId,
        json: &'b [u8],
    ) -> Result<Cow<'b, [u8]>, Error> {
        if self.writes_clear {
            return Ok(Cow::Borrowed(json));
        }
        let compressed = self.compressed_form(json);
        #[cfg(feature = "encrypt")]
        if let Some(keys) = &self.keys {
            let payload = (compressed.as_deref().unwrap_or(json), compressed.is_some());
            let protected = cipher::encrypt(keys, binding, column, attempt_id, payload)?;
            return Ok(Cow::Owned(protected));
        }
        let _ = (binding, column, attempt_id);
        Ok(compressed.map_or(Cow::Borrowed(json), |frame| {
            let mut envelope = Vec::with_capacity(1 + frame.len());
            envelope.push(COMPRESSED);
            envelope.extend(frame);
            Cow::Owned(envelope)
        }))
    }

    /// Returns the JSON of a payload as the record holds it.
    pub(crate) fn open(
        &self,
        binding: Binding<'_>,
        column: Column,
        codec: i16,
        payload: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let envelope = match codec {
            CODEC_JSON => Envelope::Clear(payload),
            CODEC_ENVELOPE => Envelope::read(payload)?,
            other => {
                return Err(Error::UnknownState {
                    what: "codec",
                    value: other.into(),
                });
            }
        };
        let what = column.name();
        let is_clear = !matches!(envelope, Envelope::Encrypted { .. });
        if is_clear && self.encrypts() && !self.accepts_clear {
            return Err(CodecFault::InClear { what }.into());
        }
        match envelope {
            Envelope::Clear(json) => Ok(json.to_vec()),
            Envelope::Compressed(frame) => self.decompress(column, frame),
            Envelope::Encrypted {
                key_id,
                is_compressed,
                head,
                ciphertext,
                ..
            } => {
                let payload = self.decrypt(binding, column, key_id, (head, ciphertext))?;
                if is_compressed {
                    self.decompress(column, &payload)
                } else {
                    Ok(payload)
                }
            }
        }
    }

    fn decrypt(
        &self,
        binding: Binding<'_>,
        column: Column,
        key_id: u32,
        parts: (&[u8], &[u8]),
    ) -> Result<Vec<u8>, Error> {
        #[cfg(feature = "encrypt")]
        if let Some(keys) = &self.keys {
            return Ok(cipher::decrypt(keys, binding, column, key_id, parts)?);
        }
        let _ = (self, binding, parts);
        let what = column.name();
        Err(CodecFault::UnknownKey { what, key_id }.into())
    }

    /// Returns the payload as a zstd frame, or `None` if it is better left as it is.
    fn compressed_form(&self, json: &[u8]) -> Option<Vec<u8>> {
        #[cfg(feature = "zstd")]
        {
            self.compression?.compress(json)
        }
        #[cfg(not(feature = "zstd"))]
        {
            let _ = (self, json);
            None
        }
    }

    /// Decompresses by this codec's limit, or by the default one: a codec that no longer compresses still reads.
    fn decompress(&self, column: Column, frame: &[u8]) -> Result<Vec<u8>, Error> {
        #[cfg(feature = "zstd")]
        {
            let compression = self.compression.unwrap_or_default();
            Ok(compression.decompress(column, frame)?)
        }
        #[cfg(not(feature = "zstd"))]
        {
            let _ = (self, column, frame);
            Err(Error::UnknownState {
                what: "form of a payload, compressed by zstd,",
                value: COMPRESSED.into(),
            })
        }
    }
}
