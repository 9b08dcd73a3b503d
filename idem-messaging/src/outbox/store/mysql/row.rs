//! A claimed row, read. Texts are stored as bytes.

use idem_runtime::record::Timestamp;
use sqlx::mysql::MySqlRow;
use sqlx::{Error, Row as _};

use crate::outbox::event::Event;
use crate::outbox::publisher::OutboxEvent;
use crate::outbox::store::ClaimedEvent;

pub(super) fn claimed(row: &MySqlRow) -> Result<ClaimedEvent, Error> {
    let event = Event::stored(
        text(row, "id")?,
        text(row, "topic")?,
        optional(row, "partition_key")?,
        text(row, "event_type")?,
        text(row, "source")?,
        row.try_get("payload")?,
    )
    .described(
        optional(row, "subject")?,
        text(row, "content_type")?,
        optional(row, "headers")?,
    )
    .traced(optional(row, "traceparent")?, optional(row, "tracestate")?);
    let attempts: i32 = row.try_get("attempts")?;
    Ok(ClaimedEvent {
        seq: row.try_get("seq")?,
        event: OutboxEvent::new(
            event,
            Timestamp::from_micros(row.try_get("appended_at")?),
            u32::try_from(attempts).unwrap_or(1),
        ),
    })
}

pub(super) fn text(row: &MySqlRow, column: &str) -> Result<String, Error> {
    optional(row, column).map(Option::unwrap_or_default)
}

pub(super) fn optional(row: &MySqlRow, column: &str) -> Result<Option<String>, Error> {
    let bytes: Option<Vec<u8>> = row.try_get(column)?;
    bytes
        .map(String::from_utf8)
        .transpose()
        .map_err(|error| Error::Decode(error.into()))
}
