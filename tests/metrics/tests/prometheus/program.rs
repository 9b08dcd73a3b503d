//! A program that does all that is counted, and shows what it counts.

use std::sync::Arc;
use std::time::Duration;

use idem_messaging::inbox::{Answer, AsAnswer, Consumer, Delivery, Handler, Message, MessageKey};
use idem_messaging::outbox::{
    Event, Origin, Outbox, OutboxEvent, OutboxSampler, PublishError, Publisher, Relay, schema,
};
use idem_messaging::versions::{self, Versions};
use idem_runtime::metrics::LATENCY_BUCKETS;
use idem_runtime::policy::OnLapse;
use idem_runtime::{
    IdempotencyKey, LeasedOperation, MetricsSampler, Operation, PurgeWorker, Replayable,
};
use idem_tests::sqlite::{Journal, Sqlite};
use idem_tests_metrics::Recorded;
use sqlx::{SqlitePool, SqliteTransaction};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const PAY: Operation = Operation::new("payments", "pay");
const NOTE: Operation = Operation::new("notifier", "note");
const SEND: LeasedOperation =
    Operation::new("mail", "send").lease(Duration::from_mins(5), OnLapse::Unknown);

#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramError {
    #[error("no")]
    No,
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
}

impl AsAnswer for ProgramError {
    fn as_answer(&self) -> Answer {
        match self {
            Self::No => Answer::permanent(self),
            Self::Idempotency(error) => error.as_answer(),
        }
    }
}

/// Takes every second event, and refuses the others for good.
struct Broker;

impl Publisher for Broker {
    async fn publish(&self, event: &OutboxEvent) -> Result<(), PublishError> {
        if event.payload() == b"taken" {
            Ok(())
        } else {
            Err(PublishError::permanent("never"))
        }
    }
}

pub(crate) struct Program {
    recorded: Arc<Recorded>,
    _database: Sqlite,
    pool: SqlitePool,
    outbox: Outbox,
    round: u32,
}

impl Program {
    pub(crate) async fn start() -> Self {
        let database = Sqlite::fresh(Journal::Wal);
        let mut conn = database.connect().await;
        idem_runtime::schema::create_if_missing(&mut conn)
            .await
            .expect("made");
        schema::create_if_missing(&mut conn).await.expect("made");
        let versions = sqlx::raw_sql(versions::schema::sqlite());
        versions.execute(&mut conn).await.expect("made");
        let recorded = Arc::new(Recorded::new(&LATENCY_BUCKETS));
        metrics::with_local_recorder(recorded.recorder(), || {
            idem_runtime::metrics::describe();
            idem_messaging::metrics::describe();
        });
        Self {
            recorded,
            pool: database.pool(4),
            _database: database,
            outbox: Outbox::new(),
            round: 0,
        }
    }

    pub(crate) fn recorded(&self) -> Arc<Recorded> {
        Arc::clone(&self.recorded)
    }

    /// Answers scrapes in a task of this thread. Returns the port.
    pub(crate) async fn listen(&self) -> u16 {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let recorded = self.recorded();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let text = recorded.text();
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nConnection: close";
                let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{text}", text.len());
                // A scrape that is given up is the server's affair.
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        port
    }

    /// Does a little of everything.
    pub(crate) async fn work(&mut self) {
        self.round += 1;
        let text = format!("round-{}", self.round);
        for request in [1, 1, 2] {
            let key = key(&text);
            let body = async |_: &mut SqliteTransaction<'_>| Ok::<_, ProgramError>(5);
            // The third is a conflict.
            let _ = PAY.run(&self.pool, &key, &request, body).await;
        }
        let body = |_| async { Ok::<_, ProgramError>(5) };
        let sent = SEND.run(&self.pool, &key(&text), &1, body).await;
        sent.expect("it is sent");
        let relay = Relay::new(self.pool.clone(), &self.outbox, Broker);
        for payload in ["taken", "refused"] {
            self.append(&text, payload).await;
        }
        relay.sweep().await.expect("a sweep");
        let consumer = self.consumer();
        for payload in ["ada", "ada", "nobody"] {
            let message = Message::new(payload).with_broker_id(format!("{text}-{payload}"));
            let _ = consumer.handle(&Delivery::new(message)).await;
        }
        let mut tx = self
            .pool
            .begin_with("BEGIN IMMEDIATE")
            .await
            .expect("begun");
        for _ in 0..2 {
            let advanced = Versions::new().advance(&mut tx, "overview", &text, 1).await;
            let _ = advanced.expect("advanced");
        }
        tx.commit().await.expect("committed");
        self.sweep().await;
        MetricsSampler::new(self.pool.clone())
            .sample()
            .await
            .expect("a sample");
        let sampler = OutboxSampler::new(self.pool.clone(), &self.outbox);
        sampler.sample().await.expect("a sample");
    }

    async fn append(&self, text: &str, payload: &str) {
        let origin = Origin::of(PAY, &key(text)).expect("an origin");
        let event = Event::builder(&origin, payload)
            .topic("payments")
            .event_type("com.example.paid")
            .payload("text/plain", payload)
            .build()
            .expect("an event");
        let mut tx = self
            .pool
            .begin_with("BEGIN IMMEDIATE")
            .await
            .expect("begun");
        self.outbox.append(&mut tx, event).await.expect("appended");
        tx.commit().await.expect("committed");
    }

    fn consumer(&self) -> Consumer<impl Handler> {
        let pool = self.pool.clone();
        let handler = move |key: IdempotencyKey, message: Arc<Message>| {
            let pool = pool.clone();
            async move { note(&pool, &key, message.payload()).await }
        };
        Consumer::new(NOTE, MessageKey::broker_id(), handler).expect("a consumer")
    }

    async fn sweep(&self) {
        let (swept, is_swept) = tokio::sync::oneshot::channel();
        let swept = std::sync::Mutex::new(Some(swept));
        let worker = PurgeWorker::new(self.pool.clone()).on_sweep(move |_| {
            if let Some(swept) = swept.lock().expect("no panic").take() {
                // The program may have ended.
                let _ = swept.send(());
            }
        });
        worker.run(is_swept).await;
    }
}

async fn note(
    pool: &SqlitePool,
    key: &IdempotencyKey,
    payload: &[u8],
) -> Result<Replayable<i64>, ProgramError> {
    let is_nobody = payload == b"nobody";
    let body = async |_: &mut SqliteTransaction<'_>| {
        if is_nobody {
            Err(ProgramError::No)
        } else {
            Ok(1)
        }
    };
    NOTE.run(pool, key, &1, body).await
}

fn key(text: &str) -> IdempotencyKey {
    text.parse::<IdempotencyKey>().expect("a key").global()
}
