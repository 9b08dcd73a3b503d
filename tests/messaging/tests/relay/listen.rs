//! Waking by LISTEN, on PostgreSQL.

use std::time::Duration;

use idem_messaging::outbox::{Outbox, Relay, Swept, schema};
use idem_tests::patience::in_time;
use idem_tests::postgres::Observer;
use idem_tests::proxy::{Fate as LinkFate, Proxy};
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgPoolOptions;
use tokio::sync::oneshot;

use crate::subject::{Broker, Fate, Postgres, Subject, event, event_of};

/// Polls of this interval come too late for anybody.
const NEVER: Duration = Duration::from_hours(1);

const LISTENS: &str = "EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() \
    AND state = 'idle' AND query LIKE 'LISTEN%')";

/// The relay's last statement is a claim that found nothing, after what it had was settled: its next poll is at its interval.
const AT_REST: &str = "NOT EXISTS (SELECT FROM idem_outbox) AND EXISTS (SELECT FROM pg_stat_activity \
    WHERE datname = current_database() AND state = 'idle' AND query LIKE '%WITH session$ AS%')";

async fn notifying() -> Postgres {
    let subject = Postgres::fresh().await;
    let made = sqlx::raw_sql(schema::postgres_notify())
        .execute(subject.pool())
        .await;
    made.expect("the trigger");
    subject
}

fn listening(subject: &Postgres, broker: &Broker) -> Relay<sqlx::Postgres, Broker> {
    // An outbox of another process shares no hint.
    subject.relay(&Outbox::new(), broker).listen()
}

/// Runs the relay until `work` has come to its end.
async fn run_while(relay: Relay<sqlx::Postgres, Broker>, work: impl Future<Output = ()>) -> Swept {
    let (stop, stopped) = oneshot::channel::<()>();
    let work = async {
        work.await;
        drop(stop);
    };
    let both = Box::pin(async { tokio::join!(relay.run(stopped), work) });
    let (swept, ()) = in_time("the relay stops", both).await;
    swept
}

/// Appends an event of a partition, so that the relay claims once more after it was settled, and waits until the relay rests.
async fn leaves(subject: &Postgres, broker: &Broker, observer: &mut Observer, number: usize) {
    let elsewhere = Outbox::new();
    let event = event_of("case-1", &format!("{number}"));
    subject.append(&elsewhere, event).await;
    broker.until_kept(number).await;
    observer.until(AT_REST).await;
}

#[tokio::test]
async fn a_relay_elsewhere_is_woken_by_each_commit() {
    let (subject, broker) = (notifying().await, Broker::new());
    let mut observer = subject.database.observer().await;
    let relay = listening(&subject, &broker).idle_interval(NEVER);
    let appending = async {
        observer.until(LISTENS).await;
        for number in 1..=3 {
            leaves(&subject, &broker, &mut observer, number).await;
        }
    };
    let swept = run_while(relay, appending).await;
    assert_eq!(swept.published, 3);
}

#[tokio::test]
async fn what_an_operator_makes_pending_again_is_heard_of() {
    let (subject, broker) = (notifying().await, Broker::new());
    let mut observer = subject.database.observer().await;
    let relay = listening(&subject, &broker)
        .idle_interval(NEVER)
        .keep_for(NEVER * 24);
    let (operator, pool) = (Outbox::new(), subject.pool());
    // It keeps events, and now and then a purge follows its claim.
    let rests = AT_REST
        .replace("idem_outbox)", "idem_outbox WHERE state = 0)")
        .replace(
            "query LIKE '%WITH session$ AS%'",
            "query SIMILAR TO '%(WITH session$ AS|settled_at <=)%'",
        );
    let operating = async {
        observer.until(LISTENS).await;
        let from = subject.moment().await;
        broker.set("a", Fate::Permanent);
        let id = subject.append(&operator, event("a")).await;
        observer
            .until("EXISTS (SELECT FROM idem_outbox WHERE state = 2)")
            .await;
        observer.until(&rests).await;
        broker.set("a", Fate::Keep);
        assert!(operator.requeue(pool, &id).await.expect("requeued"));
        broker.until_kept(1).await;
        observer.until(&rests).await;
        let to = subject.moment().await;
        let again = operator.republish(pool, from, to).await;
        assert_eq!(again.expect("republished"), 1);
        broker.until_kept(2).await;
        operator.pause(pool, "cases").await.expect("paused");
        subject.append(&operator, event("b")).await;
        observer
            .until("EXISTS (SELECT FROM idem_outbox WHERE state = 4)")
            .await;
        observer.until(&rests).await;
        operator.resume(pool, "cases").await.expect("resumed");
        broker.until_kept(3).await;
    };
    run_while(relay, operating).await;
    assert_eq!(broker.names(), ["a", "a", "b"]);
}

/// A claim in between finds nothing, and the next poll is at the interval.
#[tokio::test]
async fn an_event_in_backoff_is_tried_in_time_whatever_is_heard_meanwhile() {
    let (subject, broker) = (notifying().await, Broker::new());
    let mut observer = subject.database.observer().await;
    let second = Duration::from_secs(1);
    let relay = listening(&subject, &broker)
        .idle_interval(NEVER)
        .backoff(second * 2, second * 2);
    let names = ["a", "b", "c", "d"];
    for name in names {
        broker.set(name, Fate::Retry);
    }
    let appending = async {
        observer.until(LISTENS).await;
        for name in names {
            subject.append(&Outbox::new(), event(name)).await;
        }
        let put_off =
            "(SELECT count(*) FROM idem_outbox WHERE attempts > 0 AND claim_token IS NULL) = 4";
        observer.until(put_off).await;
        for name in names {
            broker.set(name, Fate::Keep);
        }
        subject.append(&Outbox::new(), event("e")).await;
        broker.until_kept(5).await;
    };
    let swept = run_while(relay, appending).await;
    assert_eq!(swept.published, 5);
}

#[tokio::test]
async fn what_was_committed_before_a_relay_listens_leaves_too() {
    let (subject, broker) = (notifying().await, Broker::new());
    subject.append(&Outbox::new(), event("a")).await;
    let relay = listening(&subject, &broker).idle_interval(NEVER);
    let waiting = async {
        broker.until_kept(1).await;
    };
    let swept = run_while(relay, waiting).await;
    assert_eq!(swept.published, 1);
}

#[tokio::test]
async fn a_listener_that_is_cut_off_listens_again() {
    let (subject, broker) = (notifying().await, Broker::new());
    let mut observer = subject.database.observer().await;
    let relay = listening(&subject, &broker).idle_interval(NEVER);
    let appending = async {
        observer.until(LISTENS).await;
        leaves(&subject, &broker, &mut observer, 1).await;
        let listener =
            "FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'";
        let pid = subject
            .number(&format!("SELECT pid::bigint {listener}"))
            .await;
        let end = format!("SELECT count(*) {listener} AND pg_terminate_backend({pid})");
        assert_eq!(subject.number(&end).await, 1);
        let again = format!("EXISTS (SELECT {listener} AND state = 'idle' AND pid <> {pid})");
        observer.until(&again).await;
        for number in 2..=3 {
            leaves(&subject, &broker, &mut observer, number).await;
        }
    };
    let swept = run_while(relay, appending).await;
    assert_eq!(swept.published, 3);
}

#[tokio::test]
async fn without_any_notification_an_event_leaves_at_the_interval() {
    // There is no trigger.
    let (subject, broker) = (Postgres::fresh().await, Broker::new());
    let mut observer = subject.database.observer().await;
    let relay = listening(&subject, &broker).idle_interval(Duration::from_millis(20));
    let appending = async {
        observer.until(LISTENS).await;
        for number in 1..=2 {
            leaves(&subject, &broker, &mut observer, number).await;
        }
    };
    let swept = run_while(relay, appending).await;
    assert_eq!(swept.published, 2);
}

#[tokio::test]
async fn an_append_in_the_relays_own_process_wakes_it_although_nobody_notifies() {
    let (subject, broker, outbox) = (Postgres::fresh().await, Broker::new(), Outbox::new());
    let mut observer = subject.database.observer().await;
    let relay = subject
        .relay(&outbox, &broker)
        .listen()
        .idle_interval(NEVER);
    let appending = async {
        observer.until(LISTENS).await;
        for number in 1..=2 {
            observer.until(AT_REST).await;
            let event = event_of("case-1", &format!("{number}"));
            let mut tx = subject.pool().begin().await.expect("a transaction");
            outbox.append(&mut tx, event).await.expect("appended");
            // The hint comes before the COMMIT: the relay has looked for the event, and found nothing.
            let micros = subject.now().await.as_micros();
            let looked = format!(
                "EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle' \
                 AND query LIKE '%WITH session$ AS%' AND query_start > 'epoch'::timestamptz + {micros} * interval '1 microsecond')"
            );
            observer.until(&looked).await;
            tx.commit().await.expect("committed");
            broker.until_kept(number).await;
        }
    };
    let swept = run_while(relay, appending).await;
    assert_eq!(swept.published, 2);
}

#[tokio::test]
async fn a_table_of_another_name_in_another_schema_has_notifications_of_its_own() {
    let (subject, broker) = (Postgres::fresh().await, Broker::new());
    let mut observer = subject.database.observer().await;
    subject.run("CREATE SCHEMA billing").await;
    let other = Outbox::new().table("billing.out").expect("a name");
    let mut conn = subject.pool().acquire().await.expect("a connection");
    schema::create_table_if_missing(&mut *conn, "billing.out")
        .await
        .expect("the tables");
    let trigger = schema::for_table(schema::postgres_notify(), "billing.out").expect("a name");
    let made = sqlx::raw_sql(AssertSqlSafe(trigger)).execute(&mut *conn);
    made.await.expect("the trigger");
    drop(conn);
    let apart = Outbox::new().table("billing.out").expect("a name");
    let relay = subject.relay(&apart, &broker).listen().idle_interval(NEVER);
    let at_rest = AT_REST.replace("idem_outbox", "billing.out");
    let appending = async {
        observer.until(LISTENS).await;
        for number in 1..=2 {
            let event = event_of("case-1", &format!("{number}"));
            subject.append(&other, event).await;
            broker.until_kept(number).await;
            observer.until(&at_rest).await;
        }
    };
    let swept = run_while(relay, appending).await;
    assert_eq!(swept.published, 2);
}

#[tokio::test]
async fn what_was_committed_while_a_listener_was_cut_off_leaves_when_it_listens_again() {
    // Nobody notifies, so that nothing but the new LISTEN can wake the relay.
    let (subject, broker) = (Postgres::fresh().await, Broker::new());
    let mut observer = subject.database.observer().await;
    let before = event_of("case-1", "a");
    subject.append(&Outbox::new(), before).await;
    let relay = listening(&subject, &broker).idle_interval(NEVER);
    let appending = async {
        broker.until_kept(1).await;
        observer.until(LISTENS).await;
        observer.until(AT_REST).await;
        // A listener reads this table first.
        let mut hold = subject.pool().begin().await.expect("a transaction");
        let lock = sqlx::query("LOCK TABLE pg_trigger IN ACCESS EXCLUSIVE MODE");
        lock.execute(&mut *hold).await.expect("locked");
        let end = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
            AND query LIKE 'LISTEN%' AND pg_terminate_backend(pid)";
        assert_eq!(subject.number(end).await, 1);
        observer.until_blocked(1).await;
        subject.append(&Outbox::new(), event("b")).await;
        hold.rollback().await.expect("rolled back");
        broker.until_kept(2).await;
    };
    let swept = run_while(relay, appending).await;
    assert_eq!(swept.published, 2);
}

/// A relay that reaches its database through this proxy.
fn listening_by(proxy: &Proxy, broker: &Broker) -> Relay<sqlx::Postgres, Broker> {
    let pool = PgPoolOptions::new().connect_lazy_with(proxy.options());
    Relay::new(pool, &Outbox::new(), broker.clone())
        .listen()
        .idle_interval(NEVER)
}

#[tokio::test]
async fn a_listener_whose_link_falls_silent_listens_again_and_misses_nothing() {
    let (subject, broker) = (notifying().await, Broker::new());
    let mut observer = subject.database.observer().await;
    let proxy = Proxy::to(subject.database.options()).await;
    let relay = listening_by(&proxy, &broker).listen_keepalive(Duration::from_millis(250));
    // Both ends stay open, and nothing comes over the link any more.
    proxy.next_holding("SELECT 1", LinkFate::Swallow);
    let appending = async {
        proxy.reached().await;
        observer.until(AT_REST).await;
        for number in 1..=3 {
            leaves(&subject, &broker, &mut observer, number).await;
        }
    };
    let swept = run_while(relay, appending).await;
    assert_eq!(swept.published, 3);
}

#[tokio::test]
async fn a_listener_whose_link_falls_silent_before_it_listens_tries_again() {
    let (subject, broker) = (notifying().await, Broker::new());
    let mut observer = subject.database.observer().await;
    let proxy = Proxy::to(subject.database.options()).await;
    let begun = subject.now().await.as_micros();
    let relay = listening_by(&proxy, &broker);
    proxy.next_holding("LISTEN", LinkFate::Swallow);
    let appending = async {
        proxy.reached().await;
        // The first one is given up after ten seconds, and its session may end before the second listens.
        let listening = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle' \
            AND query LIKE 'LISTEN%' AND backend_start";
        let second =
            format!("EXISTS ({listening} > to_timestamp({begun} / 1e6) + interval '5 seconds')");
        observer.until(&second).await;
        observer.until(AT_REST).await;
        for number in 1..=3 {
            leaves(&subject, &broker, &mut observer, number).await;
        }
    };
    let swept = run_while(relay, appending).await;
    assert_eq!(swept.published, 3);
}
