//! A claimed row, read.

use idem_runtime::record::Timestamp;
use sqlx::sqlite::SqliteRow;
use sqlx::{Error, Row as _};

use crate::outbox::event::Event;
use crate::outbox::publisher::OutboxEvent;
use crate::outbox::store::ClaimedEvent;

pub(super) fn claimed(row: &SqliteRow) -> Result<ClaimedEvent, Error> {
    let event = Event::stored(
        row.try_get("id")?,
        row.try_get("topic")?,
        row.try_get("partition_key")?,
        row.try_get("event_type")?,
        row.try_get("source")?,
        row.try_get("payload")?,
    )
    .described(
        row.try_get("subject")?,
        row.try_get("content_type")?,
        row.try_get("headers")?,
    )
    .traced(row.try_get("traceparent")?, row.try_get("tracestate")?);
    let attempts: i64 = row.try_get("attempts")?;
    Ok(ClaimedEvent {
        seq: row.try_get("seq")?,
        event: OutboxEvent::new(
            event,
            Timestamp::from_micros(row.try_get("appended_at")?),
            u32::try_from(attempts).unwrap_or(1),
        ),
    })
}
