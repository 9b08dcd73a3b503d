//! What a consumer counts.

use std::sync::Arc;

use idem_messaging::inbox::{
    Answer, AsAnswer, Consumer, Delivery, Message, MessageError, MessageKey,
};
use idem_runtime::{IdempotencyKey, Operation, Replayable, schema};
use idem_tests::sqlite::{Journal, Sqlite};
use sqlx::{SqlitePool, SqliteTransaction};

use crate::{record, recorded};

const NOTE: Operation = Operation::new("notifier", "note");

#[derive(Debug, thiserror::Error)]
enum NoteError {
    #[error("nobody to notify")]
    Nobody,
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
}

impl AsAnswer for NoteError {
    fn as_answer(&self) -> Answer {
        match self {
            Self::Nobody => Answer::permanent(self),
            Self::Message(error) => error.as_answer(),
            Self::Idempotency(error) => error.as_answer(),
        }
    }
}

async fn note(
    pool: &SqlitePool,
    key: &IdempotencyKey,
    payload: &[u8],
) -> Result<Replayable<i64>, NoteError> {
    let is_nobody = payload == b"nobody";
    let body = async |_: &mut SqliteTransaction<'_>| {
        if is_nobody {
            return Err(NoteError::Nobody);
        }
        Ok(1)
    };
    NOTE.run(pool, key, &String::from_utf8_lossy(payload), body)
        .await
}

#[tokio::test(flavor = "current_thread")]
async fn a_delivery_is_counted_by_its_verdict_and_a_duplicate_as_such() {
    let database = Sqlite::fresh(Journal::Wal);
    schema::create_if_missing(&mut database.connect().await)
        .await
        .expect("made");
    let (pool, recorded) = (database.pool(2), recorded());
    let _guard = record(&recorded);
    let handler = move |key: IdempotencyKey, message: Arc<Message>| {
        let pool = pool.clone();
        async move { note(&pool, &key, message.payload()).await }
    };
    let consumer = Consumer::new(NOTE, MessageKey::broker_id(), handler).expect("a consumer");
    let deliver = async |id: &str, payload: &str| {
        let message = Message::new(payload).with_broker_id(id);
        consumer.handle(&Delivery::new(message)).await
    };
    for _ in 0..3 {
        let _ = deliver("m-1", "ada").await;
    }
    let of_notifier = [("namespace", "notifier")];
    let reason = [of_notifier[0], ("kind", "permanent_failure")];
    // It begins at zero, so that its first increase is seen.
    recorded.expect("message_dead_lettered_total", &reason, 0);
    let _ = deliver("m-2", "nobody").await;
    recorded.expect("message_duplicate_total", &of_notifier, 2);
    let outcome = |word| [of_notifier[0], ("outcome", word)];
    recorded.expect("message_handled_total", &outcome("ack"), 3);
    recorded.expect("message_handled_total", &outcome("dead_letter"), 1);
    recorded.expect("message_dead_lettered_total", &reason, 1);
    assert!(!recorded.text().contains("m-1"), "{}", recorded.text());
}
