//! The store without the engine, for callers who order the steps themselves.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::stores::claim::ClaimRequest;
use crate::values::codec::{CallCodec, Codec};
use crate::values::error::{Error, Field, Invalid, Reason};
use crate::values::failure::StoredFailure;
use crate::values::identity::Identity;
use crate::values::key::{IdempotencyKey, Namespace};
use crate::values::payload::versioned::{Format, decode_result};
use crate::values::payload::{failure_bytes, result_bytes};
use crate::values::policy::{
    DEFAULT_REQUEST_LIMIT, DEFAULT_RESULT_LIMIT, DEFAULT_RETENTION, Expiry, MAX_RETENTION,
};
use crate::values::record::Record;
use crate::values::spec::{DEFAULT_TABLE, is_table};
use crate::values::version::Versions;

/// A store whose requests and results are JSON values.
pub type RawStore = Store<Value, Value>;

/// Describes where and how records of one namespace are kept, for requests `Req` and results `Res`.
///
/// It holds no connection. [`in_transaction`](Self::in_transaction) and
/// [`in_connection`](Self::in_connection) bind it to the caller's for a moment; it never opens or
/// closes a transaction.
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # async fn example(pool: sqlx::SqlitePool) -> Result<(), Box<dyn std::error::Error>> {
/// use idem_runtime::key::{IdempotencyKey, Namespace};
/// use idem_runtime::store::{Outcome, Store};
///
/// let store = Store::<String, u64>::new(Namespace::new("payments")?);
/// let key = "7f3c".parse::<IdempotencyKey>()?.global();
/// let request = "12.50 EUR to Ada".to_owned();
///
/// let mut tx = pool.begin().await?;
/// let id = match store.in_transaction(&mut *tx)?.begin(&key, "pay", &request).await? {
///     Outcome::Fresh(claim) => {
///         let id = 17; // the business writes, in `tx`
///         let id = store.in_transaction(&mut *tx)?.commit(claim, &id).await?;
///         tx.commit().await?;
///         id // as every retry gets it
///     }
///     Outcome::PriorResult { value } => value,
///     other => return Err(format!("not now: {other:?}").into()),
/// };
/// # let _ = id; Ok(()) }
/// ```
pub struct Store<Req, Res> {
    pub(super) namespace: Namespace,
    pub(super) table: Cow<'static, str>,
    pub(super) retention: Duration,
    pub(super) expiry: Expiry,
    pub(super) record_request: bool,
    pub(super) request_limit: usize,
    pub(super) result_limit: usize,
    pub(super) versions: Option<Versions<Res>>,
    pub(super) failure_versions: Option<Versions<StoredFailure>>,
    pub(super) codec: Option<&'static Codec>,
    types: PhantomData<fn(Req) -> Res>,
}

// By hand: derives would require the same traits of `Req` and `Res`.

impl<Req, Res> Clone for Store<Req, Res> {
    fn clone(&self) -> Self {
        Self {
            versions: self.versions,
            ..self.typed()
        }
    }
}

impl<Req, Res> fmt::Debug for Store<Req, Res> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("namespace", &self.namespace)
            .field("table", &self.table)
            .field("retention", &self.retention)
            .field("expiry", &self.expiry)
            .field("record_request", &self.record_request)
            .field("request_limit", &self.request_limit)
            .field("result_limit", &self.result_limit)
            .field("versions", &self.versions)
            .field("failure_versions", &self.failure_versions)
            .field("codec", &self.codec)
            .finish()
    }
}

impl<Req, Res> Store<Req, Res> {
    /// Returns a store of this namespace in the default table, with 24 hours of retention.
    pub fn new(namespace: Namespace) -> Self {
        Self {
            namespace,
            table: Cow::Borrowed(DEFAULT_TABLE),
            retention: DEFAULT_RETENTION,
            expiry: Expiry::Replay,
            record_request: false,
            request_limit: DEFAULT_REQUEST_LIMIT,
            result_limit: DEFAULT_RESULT_LIMIT,
            versions: None,
            failure_versions: None,
            codec: None,
            types: PhantomData,
        }
    }

    /// Sets how long a record lives, by the database's clock.
    ///
    /// # Errors
    /// [`Invalid`] of [`Field::Retention`] if it is below a microsecond, in which databases count, or above
    /// 3,650 days.
    pub fn retention(mut self, retention: Duration) -> Result<Self, Invalid> {
        if retention.as_micros() == 0 {
            return Err(Invalid::new(Field::Retention, Reason::Empty));
        }
        if retention > MAX_RETENTION {
            return Err(Invalid::new(
                Field::Retention,
                Reason::TooLongTime {
                    limit: MAX_RETENTION,
                    found: retention,
                },
            ));
        }
        self.retention = retention;
        Ok(self)
    }

    /// Sets another table: `[schema.]name`, each `[a-z_][a-z0-9_]*` of at most 63 bytes, the name itself of at
    /// most 61.
    ///
    /// # Errors
    /// [`Invalid`] of [`Field::Table`] for anything else: it is spliced into SQL text.
    pub fn table(mut self, table: &str) -> Result<Self, Invalid> {
        if !is_table(table) {
            return Err(Invalid::new(Field::Table, Reason::Identifier));
        }
        self.table = Cow::Owned(table.to_owned());
        Ok(self)
    }

    /// Keeps the canonical request beside its hash, for diagnosing mismatches.
    #[must_use]
    pub fn record_request(mut self) -> Self {
        self.record_request = true;
        self
    }

    /// Sets the longest request that a record keeps, in bytes of canonical JSON; [`DEFAULT_REQUEST_LIMIT`] by
    /// default. See [`Operation::request_limit`](crate::Operation::request_limit).
    #[must_use]
    pub fn request_limit(mut self, bytes: usize) -> Self {
        self.request_limit = bytes;
        self
    }

    /// Sets the longest result or failure that is recorded, in bytes of JSON; [`DEFAULT_RESULT_LIMIT`] by default.
    /// For a longer one, the store writes nothing and returns
    /// [`Error::TooLargeToRecord`](crate::Error::TooLargeToRecord).
    #[must_use]
    pub fn result_limit(mut self, bytes: usize) -> Self {
        self.result_limit = bytes;
        self
    }

    /// Reads a record past its retention as absent.
    #[must_use]
    pub fn strict_expiry(mut self) -> Self {
        self.expiry = Expiry::Strict;
        self
    }

    /// Reads and writes these versions of the result. Without them, only version 1 is read and written.
    #[must_use]
    pub fn versions(mut self, versions: Versions<Res>) -> Self {
        self.versions = Some(versions);
        self
    }

    /// Reads and writes these versions of a failure; those of [`Failure::VERSIONS`](crate::Failure::VERSIONS) for a
    /// store beside handlers.
    #[must_use]
    pub fn failure_versions(mut self, versions: Versions<StoredFailure>) -> Self {
        self.failure_versions = Some(versions);
        self
    }

    /// Returns how results are encoded.
    pub(super) fn results(&self) -> Format<Res>
    where
        Res: Serialize + DeserializeOwned,
    {
        Format::of(self.versions)
    }

    /// Returns how failures are encoded.
    pub(super) fn failures(&self) -> Format<StoredFailure> {
        Format::of(self.failure_versions)
    }

    /// Encrypts or compresses payloads by this codec; see [`codec`](crate::codec). An operation and a store that read
    /// the same records must name the same codec.
    #[cfg(any(feature = "encrypt", feature = "zstd"))]
    #[must_use]
    pub fn codec(mut self, codec: &'static Codec) -> Self {
        self.codec = Some(codec);
        self
    }

    /// Returns the identity of a key of the caller's.
    pub(super) fn identity(
        &self,
        call_codec: &CallCodec,
        key: &IdempotencyKey,
        operation: &str,
    ) -> Result<Identity, Error> {
        let Some(scope) = key.scope() else {
            return Err(Error::ScopeMissing {
                operation: operation.to_owned().into(),
            });
        };
        let (scope, key) =
            call_codec.stored(self.namespace.as_str(), scope.clone(), key.clone())?;
        Ok(Identity::new(&self.namespace, scope, key))
    }

    /// Returns the request of a look at a key, and what opens the payloads of its record.
    pub(crate) fn look_request<P: Default>(
        &self,
        key: &IdempotencyKey,
    ) -> Result<(ClaimRequest<P>, CallCodec), Error> {
        let call_codec = CallCodec::of(self.codec)?;
        let identity = self.identity(&call_codec, key, "status")?;
        Ok((ClaimRequest::new(self.table.clone(), identity), call_codec))
    }

    /// Returns the result of a completed record, of whatever version.
    pub(crate) fn decode_result(&self, record: &Record) -> Result<Res, Error>
    where
        Res: DeserializeOwned,
    {
        decode_result(self.versions, &record.operation, result_bytes(record)?)
    }

    /// Returns the failure of a failed record, of whatever version.
    pub(crate) fn decode_failure(&self, record: &Record) -> Result<StoredFailure, Error> {
        self.failures()
            .decode(&record.operation, failure_bytes(record)?)
    }

    pub(super) fn retention_micros(&self) -> i64 {
        i64::try_from(self.retention.as_micros()).unwrap_or(i64::MAX)
    }

    /// Returns the same store for other types, of which there is one version.
    pub fn typed<Req2, Res2>(&self) -> Store<Req2, Res2> {
        Store {
            namespace: self.namespace.clone(),
            table: self.table.clone(),
            retention: self.retention,
            expiry: self.expiry,
            record_request: self.record_request,
            request_limit: self.request_limit,
            result_limit: self.result_limit,
            versions: None,
            failure_versions: self.failure_versions,
            codec: self.codec,
            types: PhantomData,
        }
    }
}

#[cfg(test)]
mod tests;
