//! Reads a look-up's row alike whatever the session has set.
//!
//! A statement whose values stand in its text is answered in text. Settings then choose the form of bytes
//! (`bytea_output`) and the encoding of text (`client_encoding`). So the library asks for every text that may
//! hold more than ASCII as bytes, and reads bytes in both of their forms.

use sqlx::postgres::{PgRow, PgValueFormat};
use sqlx::{Row as _, ValueRef as _};

use super::super::row;
pub(super) use super::super::row::{lapsed_lease, timestamp};
use super::error;
use crate::values::error::Error;
use crate::values::key::hex;
use crate::values::record::Record;

/// Returns the record, if its columns are not all null.
pub(super) fn record(
    row: &PgRow,
    text: fn(&PgRow, &str) -> Result<String, Error>,
) -> Result<Option<Record>, Error> {
    row::record_by(row, text, bytes)
}

/// Reads a column of text, which the query asks for as bytes in UTF-8.
pub(super) fn text(row: &PgRow, column: &str) -> Result<String, Error> {
    let bytes = bytes(row, column)?.unwrap_or_default();
    String::from_utf8(bytes).map_err(|error| broken(error.into()))
}

/// Reads a column of bytes; `None` if it is null.
pub(super) fn bytes(row: &PgRow, column: &str) -> Result<Option<Vec<u8>>, Error> {
    let value = row.try_get_raw(column).map_err(error::map_error)?;
    if value.is_null() {
        return Ok(None);
    }
    let sent = value.as_bytes().map_err(broken)?;
    match value.format() {
        PgValueFormat::Binary => Ok(Some(sent.to_vec())),
        PgValueFormat::Text => read(sent)
            .map(Some)
            .ok_or_else(|| broken("a value of bytes in neither form of bytea_output".into())),
    }
}

fn broken(error: sqlx::error::BoxDynError) -> Error {
    Error::Database(sqlx::Error::Decode(error).into())
}

/// Reads the `hex` form and the `escape` form. No value begins alike in both: the latter doubles a backslash.
fn read(sent: &[u8]) -> Option<Vec<u8>> {
    if let Some(digits) = sent.strip_prefix(b"\\x") {
        return hex::read(digits);
    }
    let mut bytes = Vec::with_capacity(sent.len());
    let mut rest = sent;
    while let [first, behind @ ..] = rest {
        (bytes, rest) = match (first, behind) {
            (b'\\', [b'\\', behind @ ..]) => (with(bytes, b'\\'), behind),
            (
                b'\\',
                [
                    a @ b'0'..=b'3',
                    b @ b'0'..=b'7',
                    c @ b'0'..=b'7',
                    behind @ ..,
                ],
            ) => {
                let value = (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0');
                (with(bytes, value), behind)
            }
            (b'\\', _) => return None,
            (plain, behind) => (with(bytes, *plain), behind),
        };
    }
    Some(bytes)
}

fn with(mut bytes: Vec<u8>, byte: u8) -> Vec<u8> {
    bytes.push(byte);
    bytes
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn bytes_are_read_in_both_forms_of_bytea_output() {
        for (sent, bytes) in [
            (&br"\x7b22005c7d"[..], Some(&b"{\"\0\\}"[..])),
            (br#"{"\000\\}"#, Some(b"{\"\0\\}")),
            (br"\\x00", Some(br"\x00")),
            (br"\377a", Some(b"\xffa")),
            (br"\x", Some(b"")),
            (b"", Some(b"")),
            (br"\x7", None),
            (br"\xgg", None),
            (br"\4", None),
            (br"\477", None),
        ] {
            assert_eq!(read(sent).as_deref(), bytes, "{sent:?}");
        }
    }
}
