//! Opens the payloads of a record for a call of an operation with a codec.

use std::fmt;

use crate::values::codec::{Binding, Column, Protection};
use crate::values::error::Error;
use crate::values::fingerprint::Fingerprint;
use crate::values::identity::Identity;
use crate::values::record::{CODEC_JSON, Record};

/// Opens the payloads of the record of one identity.
#[derive(Clone, Copy)]
pub(crate) struct Opener<'a> {
    pub(crate) protection: &'a Protection,
    pub(crate) identity: &'a Identity,
}

impl<'a> Opener<'a> {
    /// Returns the opener of an identity's record, if the operation has a codec.
    pub(crate) fn of(protection: Option<&'a Protection>, identity: &'a Identity) -> Option<Self> {
        protection.map(|protection| Self {
            protection,
            identity,
        })
    }

    pub(super) fn fingerprint_version(self) -> i16 {
        self.protection.fingerprint_version()
    }

    pub(super) fn fingerprint_as(
        self,
        recorded: Fingerprint,
        computed: Option<Fingerprint>,
        (operation, canonical): (&str, &[u8]),
    ) -> Result<Fingerprint, Error> {
        let compared = (self.identity, operation, canonical);
        self.protection.fingerprint_as(recorded, computed, compared)
    }

    /// Opens result and failure, as a replay needs them. The request is left out.
    pub(crate) fn open_answer(self, mut record: Record) -> Result<Record, Error> {
        record.request = None;
        self.open_payloads(&mut record)?;
        Ok(record)
    }

    /// Opens request, result and failure.
    pub(crate) fn open(self, mut record: Record) -> Result<Record, Error> {
        record.request = self.open_request(&record)?;
        self.open_payloads(&mut record)?;
        Ok(record)
    }

    /// Opens the request. Returns `None` if the record has none.
    pub(crate) fn open_request(self, record: &Record) -> Result<Option<Vec<u8>>, Error> {
        self.opened(record, Column::Request, record.request.as_deref())
    }

    /// Checks that this codec's keys open the record: its result or failure, or else its request.
    pub(super) fn check(self, record: &Record) -> Result<(), Error> {
        match (&record.result, &record.failure) {
            (None, None) => self.open_request(record).map(drop),
            _ => self.open_payloads(&mut record.clone()),
        }
    }

    fn open_payloads(self, record: &mut Record) -> Result<(), Error> {
        let result = self.opened(record, Column::Result, record.result.as_deref())?;
        let failure = self.opened(record, Column::Failure, record.failure.as_deref())?;
        (record.result, record.failure) = (result, failure);
        record.codec = CODEC_JSON;
        Ok(())
    }

    fn opened(
        self,
        record: &Record,
        column: Column,
        payload: Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let binding = Binding {
            identity: self.identity,
            operation: &record.operation,
        };
        payload
            .map(|payload| self.protection.open(binding, column, record.codec, payload))
            .transpose()
    }
}

impl fmt::Debug for Opener<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener").finish_non_exhaustive()
    }
}
