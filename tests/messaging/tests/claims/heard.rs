//! What is sent to the database: counted on the wire.

use std::time::{Duration, Instant};

use idem_messaging::outbox::{Outbox, Relay};
use idem_tests::patience::in_time;
use idem_tests_cluster::Wire;
use sqlx::Executor as _;
use sqlx::postgres::{PgPool, PgPoolOptions, PgSslMode};
use tokio::sync::oneshot;

use crate::subject::{Broker, Postgres, Subject as _, event};

fn over_a_wire(subject: &Postgres) -> (Wire, PgPool) {
    let options = subject.database.options().clone();
    let wire = Wire::to(options.get_port(), Duration::ZERO).expect("a port");
    let options = options.host("127.0.0.1").port(wire.port());
    let pool = PgPoolOptions::new().max_connections(1);
    let pool = pool.connect_lazy_with(options.ssl_mode(PgSslMode::Disable));
    (wire, pool)
}

#[tokio::test]
async fn an_append_is_one_round_trip() {
    let subject = Postgres::fresh().await;
    let ((wire, pool), outbox) = (over_a_wire(&subject), Outbox::new());
    let mut conn = pool.acquire().await.expect("a connection");
    conn.execute("CREATE TABLE effect (id bigint)")
        .await
        .expect("a table");
    let mut counted = Vec::new();
    for name in ["prepares the statement", "counted"] {
        let mut tx = sqlx::Connection::begin(&mut *conn)
            .await
            .expect("a transaction");
        tx.execute("INSERT INTO effect VALUES (1)")
            .await
            .expect("an effect");
        let before = wire.round_trips();
        outbox.append(&mut tx, event(name)).await.expect("appended");
        counted.push(wire.round_trips() - before);
        tx.commit().await.expect("committed");
    }
    assert_eq!(counted[1], 1);
}

/// A message of a claim is four statements, which a law beside it counts.
#[tokio::test]
async fn an_idle_relay_sends_one_message_an_interval() {
    let subject = Postgres::fresh().await;
    let ((wire, pool), broker) = (over_a_wire(&subject), Broker::new());
    let interval = Duration::from_millis(20);
    let relay = Relay::new(pool, &Outbox::new(), broker).idle_interval(interval);
    let (stop, stopped) = oneshot::channel::<()>();
    let counting = async {
        // It has connected, has checked the table, and has polled ever more rarely.
        let until = async |count| {
            while wire.round_trips() < count {
                tokio::task::yield_now().await;
            }
        };
        until(20).await;
        let (begun, before) = (Instant::now(), wire.round_trips());
        until(before + 50).await;
        let polls = wire.round_trips() - before;
        let intervals = begun.elapsed().as_millis() / interval.as_millis();
        drop(stop);
        (u128::from(polls), intervals)
    };
    let (_, (polls, intervals)) = in_time("the relay polls", async {
        tokio::join!(relay.run(stopped), counting)
    })
    .await;
    // However busy the machine is, there are no more polls than intervals.
    assert!(
        polls <= intervals + 2,
        "{polls} polls in {intervals} intervals"
    );
}
