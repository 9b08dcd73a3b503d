//! Versions of what is recorded: how a build reads what an older one wrote, and writes what an older one reads.

use std::fmt;

use serde::de::DeserializeOwned;

/// The version of a payload that says none.
pub(crate) const FIRST: u16 = 1;

/// The versions of a recorded result (or failure) of type `T` that a build reads, and the one that it writes.
///
/// `#[idempotent(result_version = 2, upcast = ..)]` and `#[failure(version = 2, upcast = ..)]` make one. Write it
/// by hand for a [`Store`](crate::store::Store), and for a [`Failure`](crate::Failure) that is not derived:
///
/// ```
/// use idem_runtime::version::Versions;
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Payment { id: i64, currency: String }
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct PaymentV1 { id: i64 }
///
/// fn upcast_payment(old: PaymentV1) -> Payment {
///     Payment { id: old.id, currency: "EUR".to_owned() }
/// }
///
/// // Reads versions 1 and 2, and writes version 2.
/// const PAYMENT: Versions<Payment> = Versions::new(2, 1, |older| older.read().map(upcast_payment));
/// assert_eq!((PAYMENT.oldest(), PAYMENT.version(), PAYMENT.written()), (1, 2, 2));
/// ```
pub struct Versions<T> {
    version: u16,
    oldest: u16,
    upcast: Upcast<T>,
    written: u16,
    downcast: Option<Downcast<T>>,
}

/// Reads an older version as the present type.
pub type Upcast<T> = fn(&Older<'_>) -> Result<T, ConversionError>;

/// Returns the JSON of an older version.
pub type Downcast<T> = fn(&T) -> Result<Vec<u8>, ConversionError>;

impl<T> Versions<T> {
    /// Describes the present version, and how each version from `oldest` on is read as the present type.
    ///
    /// # Panics
    /// Panics if `oldest` is zero, or not below `version`.
    #[must_use]
    pub const fn new(version: u16, oldest: u16, upcast: Upcast<T>) -> Self {
        assert!(
            oldest >= FIRST,
            "the first version of a result is 1: `oldest` is at least 1"
        );
        assert!(
            oldest < version,
            "an older version is below the present one: `oldest` is less than `version`"
        );
        Self {
            version,
            oldest,
            upcast,
            written: version,
            downcast: None,
        }
    }

    /// Describes a present version that reads no older one. Versions below it are refused.
    ///
    /// # Panics
    /// Panics if `version` is zero.
    #[must_use]
    pub const fn only(version: u16) -> Self {
        assert!(version >= FIRST, "the first version of a result is 1");
        Self {
            version,
            oldest: version,
            upcast: |_| {
                Err(ConversionError::at_root(
                    "this version is not read any more",
                ))
            },
            written: version,
            downcast: None,
        }
    }

    /// Writes an older version, as long as older builds run. Without a `downcast` the JSON of the present type is
    /// written under that version.
    ///
    /// What is written must come back: it is read by the upcast and written again before COMMIT, and a result whose
    /// older JSON differs is refused ([`Error::NotStorable`](crate::Error::NotStorable)). Every caller gets it as it comes back,
    /// the first one too.
    ///
    /// ```
    /// use idem_runtime::version::{ConversionError, Versions};
    ///
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Payment { id: i64, currency: String }
    ///
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct PaymentV1 { id: i64 }
    ///
    /// fn downcast_payment(payment: &Payment) -> Result<Vec<u8>, ConversionError> {
    ///     if payment.currency != "EUR" {
    ///         return Err(ConversionError::new("version 1 knows euros only"));
    ///     }
    ///     serde_json::to_vec(&PaymentV1 { id: payment.id }).map_err(ConversionError::new)
    /// }
    ///
    /// // For the first of two deploys: builds that know version 1 alone still read what this one writes.
    /// const PAYMENT: Versions<Payment> = Versions::new(2, 1, |older| {
    ///     older.read().map(|old: PaymentV1| Payment { id: old.id, currency: "EUR".to_owned() })
    /// })
    /// .writing(1, Some(downcast_payment));
    /// assert_eq!((PAYMENT.version(), PAYMENT.written()), (2, 1));
    /// ```
    ///
    /// # Panics
    /// Panics if this build does not read `version`.
    #[must_use]
    pub const fn writing(mut self, version: u16, downcast: Option<Downcast<T>>) -> Self {
        assert!(
            version >= self.oldest && version <= self.version,
            "a build writes a version that it reads: at least the oldest, at most the present one"
        );
        self.written = version;
        self.downcast = downcast;
        self
    }

    /// Returns the present version.
    pub const fn version(&self) -> u16 {
        self.version
    }

    /// Returns the oldest version that is read.
    pub const fn oldest(&self) -> u16 {
        self.oldest
    }

    /// Returns the version that is written.
    pub const fn written(&self) -> u16 {
        self.written
    }

    pub(crate) const fn upcast(&self) -> Upcast<T> {
        self.upcast
    }

    pub(crate) const fn downcast(&self) -> Option<Downcast<T>> {
        self.downcast
    }
}

// By hand: derives would require the same traits of `T`.

impl<T> Clone for Versions<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Versions<T> {}

impl<T> fmt::Debug for Versions<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Versions")
            .field("version", &self.version)
            .field("oldest", &self.oldest)
            .field("written", &self.written)
            .finish_non_exhaustive()
    }
}

/// A result that an older build recorded.
///
/// `Debug` shows its version, and nothing of its content.
pub struct Older<'r> {
    version: u16,
    json: &'r [u8],
}

impl<'r> Older<'r> {
    pub(crate) const fn new(version: u16, json: &'r [u8]) -> Self {
        Self { version, json }
    }

    /// Returns the version that it was recorded as.
    pub const fn version(&self) -> u16 {
        self.version
    }

    /// Returns its JSON.
    pub const fn json(&self) -> &'r [u8] {
        self.json
    }

    /// Decodes it as the type of its version.
    ///
    /// # Errors
    /// [`ConversionError`] with the path of the field that does not decode.
    pub fn read<V: DeserializeOwned>(&self) -> Result<V, ConversionError> {
        let mut json = serde_json::Deserializer::from_slice(self.json);
        let value = serde_path_to_error::deserialize(&mut json)
            .map_err(|error| ConversionError::at(error.path().to_string(), error.inner()))?;
        json.end().map_err(ConversionError::at_root)?;
        Ok(value)
    }
}

impl fmt::Debug for Older<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Older")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// A version that does not convert to another.
///
/// `Display` and `Debug` do not show the message, which may quote the payload.
#[derive(Clone, PartialEq, Eq)]
pub struct ConversionError {
    pub(crate) path: String,
    pub(crate) message: String,
}

impl ConversionError {
    /// Creates the error of a conversion that this value's content does not allow.
    pub fn new(why: impl fmt::Display) -> Self {
        Self::at_root(why)
    }

    pub(crate) fn at(path: String, why: &impl fmt::Display) -> Self {
        let message = why.to_string();
        Self { path, message }
    }

    fn at_root(why: impl fmt::Display) -> Self {
        Self::at(".".to_owned(), &why)
    }
}

impl fmt::Display for ConversionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a recorded value does not convert to another version")
    }
}

impl fmt::Debug for ConversionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConversionError").finish_non_exhaustive()
    }
}

impl std::error::Error for ConversionError {}
