//! Stands in place of the codecs without the features `encrypt` and `zstd`: there is none.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Binding, Column};
use crate::values::error::Error;
use crate::values::fingerprint::Fingerprint;
use crate::values::identity::Identity;
use crate::values::key::{IdempotencyKey, Scope};
use crate::values::record::AttemptId;

/// A codec, of which there is none.
#[derive(Debug, PartialEq, Eq)]
pub enum NoCodec {}

/// What a codec does.
#[derive(Debug)]
pub enum NoProtection {}

impl NoCodec {
    pub(crate) fn protection(&self) -> Result<Arc<NoProtection>, Error> {
        match *self {}
    }
}

impl NoProtection {
    pub(crate) fn hashes_names(&self) -> bool {
        match *self {}
    }

    pub(crate) fn codec(&self) -> i16 {
        match *self {}
    }

    pub(crate) fn fingerprint_version(&self) -> i16 {
        match *self {}
    }

    pub(crate) fn fingerprint(
        &self,
        _: &Identity,
        _: &str,
        _: &[u8],
    ) -> Result<Fingerprint, Error> {
        match *self {}
    }

    pub(crate) fn fingerprint_as(
        &self,
        _: Fingerprint,
        _: Option<Fingerprint>,
        _: (&Identity, &str, &[u8]),
    ) -> Result<Fingerprint, Error> {
        match *self {}
    }

    pub(crate) fn stored(
        &self,
        _: &str,
        _: Scope,
        _: IdempotencyKey,
    ) -> Result<(Scope, IdempotencyKey), Error> {
        match *self {}
    }

    pub(crate) fn protect<'b>(
        &self,
        _: Binding<'_>,
        _: Column,
        _: AttemptId,
        _: &'b [u8],
    ) -> Result<Cow<'b, [u8]>, Error> {
        match *self {}
    }

    pub(crate) fn open(
        &self,
        _: Binding<'_>,
        _: Column,
        _: i16,
        _: &[u8],
    ) -> Result<Vec<u8>, Error> {
        match *self {}
    }
}
