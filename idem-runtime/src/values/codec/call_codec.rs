//! What a call does with its operation's codec; nothing, if it has none.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Binding, Codec, Column, Protection};
use crate::values::error::Error;
use crate::values::fingerprint::Fingerprint;
use crate::values::identity::Identity;
use crate::values::key::{IdempotencyKey, Scope};
use crate::values::record::{AttemptId, RecordFormat};

/// What the codec of an operation had installed when a call began.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallCodec(Option<Arc<Protection>>);

impl CallCodec {
    /// Takes what is installed in the codec.
    ///
    /// # Errors
    /// [`CodecFault::NotInstalled`](crate::error::CodecFault::NotInstalled).
    pub(crate) fn of(codec: Option<&'static Codec>) -> Result<Self, Error> {
        codec.map(Codec::protection).transpose().map(Self)
    }

    pub(crate) fn protection(&self) -> Option<&Protection> {
        self.0.as_deref()
    }

    /// Returns how records are written.
    pub(crate) fn format(&self) -> RecordFormat {
        match self.protection() {
            None => RecordFormat::CLEAR,
            Some(protection) => RecordFormat {
                codec: protection.codec(),
                fingerprint_version: protection.fingerprint_version(),
            },
        }
    }

    /// Computes the fingerprint to write.
    pub(crate) fn fingerprint(
        &self,
        identity: &Identity,
        operation: &str,
        canonical: &[u8],
    ) -> Result<Fingerprint, Error> {
        match self.protection() {
            None => Fingerprint::current(identity.namespace(), operation, canonical),
            Some(protection) => protection.fingerprint(identity, operation, canonical),
        }
    }

    /// Returns whether the table holds hashes in place of scopes and keys.
    pub(crate) fn hashes_names(&self) -> bool {
        self.protection().is_some_and(Protection::hashes_names)
    }

    /// Returns scope and key as the table holds them.
    pub(crate) fn stored(
        &self,
        namespace: &str,
        scope: Scope,
        key: IdempotencyKey,
    ) -> Result<(Scope, IdempotencyKey), Error> {
        match self.protection() {
            None => Ok((scope, key)),
            Some(protection) => protection.stored(namespace, scope, key),
        }
    }

    /// Returns a payload as the record holds it. The mark of a request that is too large to be kept stays.
    pub(crate) fn protect<'b>(
        &self,
        binding: Binding<'_>,
        column: Column,
        attempt_id: AttemptId,
        json: &'b [u8],
    ) -> Result<Cow<'b, [u8]>, Error> {
        match self.protection() {
            Some(protection) if !json.is_empty() => {
                protection.protect(binding, column, attempt_id, json)
            }
            _ => Ok(Cow::Borrowed(json)),
        }
    }
}
