//! A table of many events, and what its pages were asked for.

use std::sync::Arc;

use idem_messaging::outbox::{Outbox, OutboxEvent, PublishError, Publisher, Relay};
use idem_tests::patience::in_time;
use idem_tests::postgres::Observer;
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use tokio::sync::Notify;

use crate::subject::{Postgres, Subject as _};

/// The events of one claim.
pub(crate) const BATCH: i64 = 256;

/// Columns, and their values in row `n`.
pub(crate) type Kind = (&'static str, &'static str);

/// Columns and values of events that are ready, each of its own partition.
pub(crate) const READY: Kind = (
    "due_at, queued_xid, state, partition_key, partition_hash",
    "now(), pg_current_xact_id(), 0, 'case-' || n, hashtextextended('cases', hashtextextended('case-' || n, 0))",
);

/// Events that are set aside.
pub(crate) const DEAD: Kind = (
    "settled_at, state, attempts, partition_key, partition_hash",
    "now(), 2, 16, 'case-' || n, hashtextextended('cases', hashtextextended('case-' || n, 0))",
);

/// Events of one partition, of which the first waits for its backoff, and the others for it.
pub(crate) const HEAD: Kind = (
    "due_at, state, partition_key, partition_hash",
    "now() + interval '1 hour', 0, 'stuck', hashtextextended('cases', hashtextextended('stuck', 0))",
);
pub(crate) const BEHIND: Kind = (
    "state, partition_key, partition_hash",
    "3, 'stuck', hashtextextended('cases', hashtextextended('stuck', 0))",
);

/// Appends events by SQL, as many and as wide as the library would.
pub(crate) async fn fill(subject: &Postgres, rows: &[(i64, Kind)]) {
    let mut session = subject.database.connect().await;
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()")
        .fetch_one(&mut session)
        .await
        .expect("an answer");
    for (count, (columns, values)) in rows {
        let fill = format!(
            "INSERT INTO idem_outbox (appended_at, id, topic, event_type, source, content_type, payload, {columns}) \
             SELECT now(), encode(sha256(random()::text::bytea), 'hex'), 'cases', 'com.example.case.escalated.v1', '/cases', \
             'application/json', convert_to('{{\"case\":' || n || '}}', 'UTF8'), {values} FROM generate_series(1, {count}) n"
        );
        let filled = session.execute(AssertSqlSafe(fill)).await;
        filled.expect("filled");
    }
    let vacuumed = session.execute("VACUUM ANALYZE idem_outbox").await;
    vacuumed.expect("vacuumed");
    session.close().await.expect("closed");
    // A session reports its counts at its end.
    subject.database.observer().await.until_gone(pid).await;
}

/// How many pages of the outbox and its indexes were asked for, as far as sessions have ended.
pub(crate) async fn pages(subject: &Postgres) -> i64 {
    let asked = "SELECT heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit FROM pg_statio_user_tables \
                 WHERE relname = 'idem_outbox'";
    subject.number(asked).await
}

/// A publisher that never answers.
#[derive(Clone, Default)]
struct Silent(Arc<Notify>);

impl Publisher for Silent {
    async fn publish(&self, _event: &OutboxEvent) -> Result<(), PublishError> {
        self.0.notify_one();
        std::future::pending().await
    }
}

/// Lets a relay claim once, and kills it while it publishes. Returns the pages that the claim asked for.
pub(crate) async fn pages_of_a_claim(subject: &Postgres) -> i64 {
    let before = pages(subject).await;
    let options = subject.database.options().clone();
    // Its session is found by this name.
    let pool = PgPoolOptions::new().connect_lazy_with(options.application_name("claims"));
    let silent = Silent::default();
    let relay = Relay::new(pool, &Outbox::new(), silent.clone());
    let killed = tokio::select! {
        swept = relay.sweep() => Err(swept),
        () = silent.0.notified() => Ok(()),
    };
    killed.expect("the relay is killed while it publishes");
    let mut observer = Observer::new(subject.database.connect().await);
    let gone = "NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'claims')";
    in_time("the relay's session ends", observer.until(gone)).await;
    let claimed = "SELECT count(*) FROM idem_outbox WHERE claim_token IS NOT NULL";
    assert_eq!(subject.number(claimed).await, BATCH);
    pages(subject).await - before
}
