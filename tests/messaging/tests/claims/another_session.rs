//! A claim whose connection is answered by another session than the one that it has learnt from, as behind a pooler after a crash
//! of the server.

use std::time::Duration;

use idem_messaging::outbox::Outbox;
use idem_tests::patience::in_time;
use idem_tests::postgres::{Cluster, Database, Options};
use sqlx::{AssertSqlSafe, Executor as _};
use tokio::sync::oneshot;

use crate::subject::{Broker, Postgres, Subject as _, event, event_of};

/// The statements of a relay that has read on, as its session sent them last.
const LAST: &str = "SELECT query FROM pg_stat_activity WHERE query LIKE '%WITH session$ AS%' AND pid <> pg_backend_pid()";

/// The name of a session, as a claim asks for it.
const NAME: &str = "SELECT concat(pid, ' ', extract(epoch FROM backend_start)) FROM pg_stat_get_activity(pg_backend_pid())";

/// A server that counts anew gives an event a number below all that the relay has seen.
const EARLIER: &str =
    "UPDATE idem_outbox SET queued_xid = '3', lease_ends_at = NULL, claim_token = NULL";

async fn text(conn: &mut sqlx::PgConnection, query: &'static str) -> String {
    let text = sqlx::query_scalar(query).fetch_one(conn).await;
    text.expect("a text")
}

#[tokio::test]
async fn what_another_session_has_shown_hides_no_event() {
    let whole = Options::new().set("track_activity_query_size", "32kB");
    let cluster = Cluster::start(whole).expect("a server");
    let subject = Postgres::of(Database::fresh_on(&cluster).await).await;
    let (outbox, broker) = (Outbox::new(), Broker::new());
    let relay = subject.relay(&outbox, &broker);
    let relay = relay.idle_interval(Duration::from_millis(5));
    let (stop, stopped) = oneshot::channel::<()>();
    let mut conn = subject.database.connect().await;
    let steps = async {
        for (name, kept) in [("a", 1), ("b", 2)] {
            subject.append(&outbox, event(name)).await;
            broker.until_kept(kept).await;
        }
        // A claim after the last event has learnt that there is none.
        let mut observer = subject.database.observer().await;
        let learnt =
            format!("EXISTS ({LAST} AND state = 'idle' AND query NOT LIKE '%THEN ''0''%')");
        observer.until(&learnt).await;
        text(&mut conn, LAST).await
    };
    let both = Box::pin(async {
        let steps = async {
            let claim = steps.await;
            drop(stop);
            claim
        };
        tokio::join!(relay.run(stopped), steps).1
    });
    let claim = in_time("the relay reads on", both).await;
    subject.append(&outbox, event_of("case-1", "earlier")).await;
    let learnt_in = claim
        .split_once("(SELECT name FROM session$) = '")
        .and_then(|(_, rest)| rest.split_once('\''))
        .map(|(name, _)| name.to_owned());
    let learnt_in = learnt_in.expect("the session that it was learnt in");
    let here = text(&mut conn, NAME).await;
    assert_ne!(here, learnt_in);
    let claimed = "SELECT count(*) FROM idem_outbox WHERE claim_token IS NOT NULL";
    for (claim, count) in [(claim.replace(&learnt_in, &here), 0), (claim, 1)] {
        conn.execute(EARLIER).await.expect("as after a crash");
        let sent = sqlx::raw_sql(AssertSqlSafe(claim));
        conn.execute(sent).await.expect("claimed");
        assert_eq!(subject.number(claimed).await, count);
    }
}
