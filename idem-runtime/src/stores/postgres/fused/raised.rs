//! Reads the record that the claim's error shows.
//!
//! The function of the migration writes it into the field that names a constraint. Only an error of the first
//! message is read, in which nothing but the claim's own statements runs, and only if it names the claim that
//! the message has just made.

use super::super::super::row;
use super::super::claim::PgClaimRequest;
use super::super::sql;
use crate::decision::{Lock, Lookup};
use crate::values::key::hex;
use crate::values::record::{AttemptId, Record, Status, Timestamp, kept_request};

/// Returns the record that `text` shows; `None` if the text is not wholly the function's, or the record is too
/// large for it or not one that this build reads. A look-up then finds it, or says what is wrong with it.
pub(in super::super) fn decode(text: &str, request: &PgClaimRequest) -> Option<Lookup> {
    let (table_oid, record) = text
        .strip_prefix(&*sql::held_claim(request))?
        .split_once(";,")?;
    table_oid.parse::<u32>().ok()?;
    let fields: Vec<_> = record.split(',').collect();
    let [
        now,
        created_at,
        expires_at,
        locked_until,
        attempt_id,
        attempt,
        status,
        fingerprint_version,
        codec,
        operation,
        fingerprint,
        stored_request,
        result,
        failure,
    ] = <[&str; 14]>::try_from(fields).ok()?;
    let (request, request_too_large) = kept_request(optional(stored_request, bytes).ok()?);
    let record = Record {
        created_at: time(created_at)?,
        expires_at: match expires_at {
            "Infinity" => None,
            expires_at => Some(time(expires_at)?),
        },
        locked_until: optional(locked_until, time).ok()?,
        attempt_id: AttemptId::from_uuid(attempt_id.parse().ok()?),
        attempt: attempt.parse().ok()?,
        status: Status::from_code(status.parse().ok()?).ok()?,
        fingerprint_version: fingerprint_version.parse().ok()?,
        codec: codec.parse().ok()?,
        operation: String::from_utf8(bytes(operation)?).ok()?,
        fingerprint: row::fingerprint(optional(fingerprint, bytes).ok()?).ok()?,
        request,
        request_too_large,
        result: optional(result, bytes).ok()?,
        failure: optional(failure, bytes).ok()?,
    };
    row::check_columns(&record).ok()?;
    Some(Lookup {
        record: Some(record),
        lock: Lock::NotAsked,
        now: time(now)?,
    })
}

/// Reads a number of seconds, which has six decimals.
fn time(text: &str) -> Option<Timestamp> {
    let (seconds, micros) = text.split_once('.')?;
    if micros.len() != 6 || !micros.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let micros = format!("{seconds}{micros}").parse().ok()?;
    Some(Timestamp::from_micros(micros))
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    hex::read(text.as_bytes())
}

/// A value that is neither read nor a dash.
struct Malformed;

/// Reads a value, or a dash for none.
fn optional<T>(text: &str, read: fn(&str) -> Option<T>) -> Result<Option<T>, Malformed> {
    match text {
        "-" => Ok(None),
        text => read(text).map(Some).ok_or(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::request;
    use super::*;

    const RECORD: &str = "16384;,1700000001.000002,1700000000.000001,1700086400.000001,-,\
        0123abcd-0123-4123-8123-0123456789ab,1,1,1,1,706179,-,-,7b7d,-";

    fn shown(record: &str) -> (PgClaimRequest, String) {
        let request = request("k");
        let text = format!("{}{record}", sql::held_claim(&request));
        (request, text)
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let (request, text) = shown(RECORD);
        let lookup = decode(&text, &request).unwrap();
        assert_eq!(lookup.now.as_micros(), 1_700_000_001_000_002);
        let record = lookup.record.unwrap();
        assert_eq!(record.created_at.as_micros(), 1_700_000_000_000_001);
        assert_eq!(
            record.expires_at.unwrap().as_micros(),
            1_700_086_400_000_001
        );
        assert_eq!(record.operation, "pay");
        assert_eq!(record.result.as_deref(), Some(&b"{}"[..]));
        assert!(record.failure.is_none() && record.request.is_none());
        assert!(!record.request_too_large);
    }

    #[test]
    fn anything_else_is_not_read() {
        for (is, becomes) in [
            ("16384;", "16384;;"),
            ("16384", "x"),
            (".000002", ".00002"),
            (".000002", ".-00002"),
            ("1700000000.000001", "-"),
            ("1700086400.000001", "-"),
            ("0123abcd-", "0123-"),
            (",1,1,1,1,", ",1,9,1,1,"),
            (",1,1,1,1,", ",1,1,1,"),
            (",706179", ",70617"),
            (",706179", ",ff"),
            (",7b7d,-", ",-,-"),
            (",7b7d,-", ",7b7d,7b7d"),
            (",7b7d,-", ",7b7d,-,"),
            (",7b7d,-", ",7B7X,-"),
            ("-,-,7b7d", "00,-,7b7d"),
        ] {
            let (request, text) = shown(RECORD);
            assert!(text.contains(is), "{is}");
            let other = text.replace(is, becomes);
            assert!(decode(&other, &request).is_none(), "{becomes}: {other}");
        }
        let (request, text) = shown(RECORD);
        for cut in 0..text.len() {
            assert!(decode(&text[..cut], &request).is_none(), "{cut}");
        }
    }

    #[test]
    fn another_attempts_record_is_not_read() {
        let (_, text) = shown(RECORD);
        assert!(decode(&text, &request("k")).is_none());
    }
}
