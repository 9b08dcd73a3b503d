//! The version of a payload: where it stands in the bytes, and how each version is read and written.
//!
//! Version 1 is the JSON alone. A higher one stands before it as text, `v2 {..}`: no JSON begins with `v`, so a build
//! that knows no versions refuses such a payload instead of misreading it. The header is part of what a codec encodes.

use std::fmt::Display;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{PayloadKind, alike, check_round_trip, check_size, decode, unstorable, write};
use crate::values::error::{Error, RecordedVersion};
use crate::values::record::{CODEC_JSON, Record};
use crate::values::version::{ConversionError, FIRST, Older, Versions};

/// Puts the version before the JSON.
pub(crate) fn with_version(version: u16, json: Vec<u8>) -> Vec<u8> {
    if version == FIRST {
        return json;
    }
    let mut bytes = format!("v{version} ").into_bytes();
    bytes.extend_from_slice(&json);
    bytes
}

/// Returns the version of a payload and its JSON. A header that this library does not write is left where it is, and
/// no JSON.
pub(crate) fn split(bytes: &[u8]) -> (u16, &[u8]) {
    header(bytes).unwrap_or((FIRST, bytes))
}

fn header(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let marked = bytes.strip_prefix(b"v")?;
    let end = marked.iter().take(6).position(|byte| *byte == b' ')?;
    let digits = std::str::from_utf8(&marked[..end]).ok()?;
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) || digits.starts_with('0') {
        return None;
    }
    let version = digits.parse().ok().filter(|version| *version > FIRST)?;
    Some((version, &marked[end + 1..]))
}

impl Record {
    /// Returns the version of the result or of the failure: the `result_version` of the handler that recorded it, or the
    /// `version` of its error type. Returns `None` if the record has neither, or if this build does not know its codec.
    pub fn payload_version(&self) -> Option<u16> {
        if self.codec != CODEC_JSON {
            return None;
        }
        let payload = self.result.as_deref().or(self.failure.as_deref())?;
        Some(split(payload).0)
    }
}

/// How a type is recorded: its present JSON, and its versions.
pub(crate) struct Format<T> {
    read: fn(&str, &[u8]) -> Result<T, Error>,
    write: fn(&T, &str) -> Result<Vec<u8>, Error>,
    /// `None` if there is only version 1.
    versions: Option<Versions<T>>,
}

// By hand: a derive would require `T: Copy`.
impl<T> Clone for Format<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Format<T> {}

impl<T> Format<T> {
    pub(crate) const fn new(
        read: fn(&str, &[u8]) -> Result<T, Error>,
        write: fn(&T, &str) -> Result<Vec<u8>, Error>,
    ) -> Self {
        Self {
            read,
            write,
            versions: None,
        }
    }

    /// Returns the format of a type that serde encodes and decodes.
    pub(crate) fn of(versions: Option<Versions<T>>) -> Self
    where
        T: Serialize + DeserializeOwned,
    {
        Self::new(decode::<T>, write::<T>).versioned(versions)
    }

    pub(crate) const fn versioned(mut self, versions: Option<Versions<T>>) -> Self {
        self.versions = versions;
        self
    }

    /// Encodes a value of at most this many bytes of JSON for the record, and checks that it decodes to an equal value.
    /// Returns the bytes and the decoded value. Every caller gets the decoded value, including the first.
    pub(crate) fn encode(
        &self,
        limit: usize,
        kind: PayloadKind,
        operation: &str,
        value: &T,
    ) -> Result<(Vec<u8>, T), Error> {
        let json = self.write(operation, value)?;
        check_size(limit, kind, operation, &json)?;
        let Some(versions) = self.versions else {
            let back = check_round_trip(operation, &json, self.read, self.write)?;
            return Ok((json, back));
        };
        let version = versions.written();
        let back = check_round_trip(
            operation,
            &json,
            |operation, json| self.read(operation, version, json),
            |value, operation| self.write(operation, value),
        );
        let back = back.map_err(|refusal| match refusal {
            Error::NotStorable { message, .. } if version < versions.version() => unstorable::<T>(
                operation,
                "the older version that is written (`write_version`) does not hold it",
                Some(&message),
            ),
            refusal => refusal,
        })?;
        Ok((with_version(version, json), back))
    }

    /// Returns whether the value would be recorded with the same payload.
    pub(crate) fn is_again(
        &self,
        operation: &str,
        value: &T,
        payload: &[u8],
    ) -> Result<bool, Error> {
        Ok(alike(split(payload).1, &self.write(operation, value)?))
    }

    /// Returns the JSON in the version that is written.
    fn write(&self, operation: &str, value: &T) -> Result<Vec<u8>, Error> {
        let downcast = self.versions.and_then(|versions| versions.downcast());
        let Some(downcast) = downcast else {
            return (self.write)(value, operation);
        };
        downcast(value).map_err(|fault| {
            let reason =
                "its `downcast` refuses it: the older version that is written cannot hold it";
            unstorable::<T>(operation, reason, Some(&fault.message))
        })
    }

    /// Decodes a payload of the record, of whatever version.
    pub(crate) fn decode(&self, operation: &str, payload: &[u8]) -> Result<T, Error> {
        let (version, json) = split(payload);
        self.read(operation, version, json)
    }

    fn read(&self, operation: &str, version: u16, json: &[u8]) -> Result<T, Error> {
        read_version(self.versions, self.read, operation, version, json)
    }
}

/// Decodes a recorded result, of whatever version.
pub(crate) fn decode_result<T: DeserializeOwned>(
    versions: Option<Versions<T>>,
    operation: &str,
    payload: &[u8],
) -> Result<T, Error> {
    let (version, json) = split(payload);
    read_version(versions, decode::<T>, operation, version, json)
}

fn read_version<T>(
    versions: Option<Versions<T>>,
    read: fn(&str, &[u8]) -> Result<T, Error>,
    operation: &str,
    version: u16,
    json: &[u8],
) -> Result<T, Error> {
    let (oldest, newest) = versions.map_or((FIRST, FIRST), |versions| {
        (versions.oldest(), versions.version())
    });
    if version == newest {
        return read(operation, json);
    }
    let fault = match versions {
        Some(versions) if (oldest..newest).contains(&version) => {
            match versions.upcast()(&Older::new(version, json)) {
                Ok(value) => return Ok(value),
                Err(fault) => fault,
            }
        }
        _ => ConversionError::new("this build does not read the version"),
    };
    Err(Error::IncompatibleState {
        operation: operation.to_owned(),
        type_name: std::any::type_name::<T>(),
        path: fault.path,
        message: fault.message,
        version: Some(RecordedVersion {
            recorded: version,
            oldest,
            newest,
        }),
    })
}

/// The return value of a step that reads an older version: the next version, or a `Result` of it.
#[diagnostic::on_unimplemented(
    message = "the upcast returns `{Self}`, and `{T}` is needed here",
    label = "the last function returns the handler's result, and each other one what the next takes; a `Result<_, E>` of it is possible too, where `E` is `Display`"
)]
pub trait Upcasted<T> {
    #[doc(hidden)]
    fn upcasted(self) -> Result<T, ConversionError>;
}

impl<T> Upcasted<T> for T {
    fn upcasted(self) -> Result<T, ConversionError> {
        Ok(self)
    }
}

impl<T, E: Display> Upcasted<T> for Result<T, E> {
    fn upcasted(self) -> Result<T, ConversionError> {
        self.map_err(ConversionError::new)
    }
}

/// Makes one step from a version to the next.
///
/// # Errors
/// The error of the steps before, or of this one.
pub fn step<A, O: Upcasted<B>, B>(
    older: Result<A, ConversionError>,
    upcast: impl FnOnce(A) -> O,
) -> Result<B, ConversionError> {
    upcast(older?).upcasted()
}

/// A type that an older build recorded. Implemented for every type that is `DeserializeOwned`.
#[diagnostic::on_unimplemented(
    message = "an older version cannot be read as `{Self}`: it does not implement `DeserializeOwned`",
    label = "add `#[derive(serde::Deserialize)]` to the type that the upcast takes, which it owns"
)]
pub trait OlderRead: Sized {
    #[doc(hidden)]
    fn older(older: &Older<'_>) -> Result<Self, ConversionError>;
}

impl<T: DeserializeOwned> OlderRead for T {
    fn older(older: &Older<'_>) -> Result<Self, ConversionError> {
        older.read()
    }
}

/// Decodes what the first step takes.
///
/// # Errors
/// [`ConversionError`] if it does not decode.
pub fn older<V: OlderRead>(older: &Older<'_>) -> Result<V, ConversionError> {
    V::older(older)
}

/// The return value of a `downcast`. Its method is the inherent one of a `Result`, and otherwise that of
/// [`WriteOlder`].
pub struct Downcasted<V>(pub V);

/// Encodes the older version that a `downcast` returns. Implemented for every type that is `Serialize`.
#[diagnostic::on_unimplemented(
    message = "an older version cannot be recorded as `{Self}`: it does not implement `Serialize`",
    label = "add `#[derive(serde::Serialize)]` to the type that the downcast returns"
)]
pub trait OlderWrite {
    #[doc(hidden)]
    fn json(&self) -> Result<Vec<u8>, ConversionError>;
}

impl<V: Serialize> OlderWrite for V {
    fn json(&self) -> Result<Vec<u8>, ConversionError> {
        write(self, "").map_err(|refusal| {
            ConversionError::new(match refusal {
                Error::NotStorable { message, .. } => message,
                other => other.to_string(),
            })
        })
    }
}

impl<V: OlderWrite, E: Display> Downcasted<Result<V, E>> {
    /// Encodes the older version.
    ///
    /// # Errors
    /// The downcast's own, or that of `Serialize`.
    pub fn write_older(self) -> Result<Vec<u8>, ConversionError> {
        self.0.map_err(ConversionError::new)?.json()
    }
}

/// See [`Downcasted`]. The method has the bound, so that the compiler explains it.
pub trait WriteOlder<V> {
    /// Encodes the older version.
    ///
    /// # Errors
    /// That of `Serialize`.
    fn write_older(self) -> Result<Vec<u8>, ConversionError>
    where
        V: OlderWrite;
}

impl<V> WriteOlder<V> for Downcasted<V> {
    fn write_older(self) -> Result<Vec<u8>, ConversionError>
    where
        V: OlderWrite,
    {
        self.0.json()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_has_the_version_that_it_was_marked_with() {
        for version in [1, 2, 9, 10, 65_535] {
            let payload = with_version(version, b"{\"id\":1}".to_vec());
            assert_eq!(split(&payload), (version, &b"{\"id\":1}"[..]));
        }
        assert_eq!(with_version(1, b"7".to_vec()), b"7");
        assert_eq!(with_version(2, b"7".to_vec()), b"v2 7");
    }

    #[test]
    fn what_is_no_header_is_no_json_either() {
        for bytes in [
            "v",
            "v2",
            "v2{}",
            "v1 {}",
            "v0 {}",
            "v02 {}",
            "v+2 {}",
            "v65536 {}",
            "v-1 {}",
            "v 2",
            "V2 {}",
        ] {
            assert_eq!(split(bytes.as_bytes()), (1, bytes.as_bytes()));
            assert!(serde_json::from_str::<serde_json::Value>(bytes).is_err());
        }
    }
}
