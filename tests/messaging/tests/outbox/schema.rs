//! The tables, and the checks of them.

use idem_messaging::outbox::{Outbox, OutboxError, schema};
use idem_tests::patience::in_time;

use crate::subject::{Broker, PENDING, Subject, event};

async fn findings<S: Subject>(subject: &S) -> Vec<String> {
    let mut conn = subject.pool().acquire().await.expect("a connection");
    match schema::verify(&mut *conn).await {
        Ok(()) => Vec::new(),
        Err(OutboxError::Schema { findings, .. }) => findings,
        Err(other) => panic!("not an answer: {other}"),
    }
}

pub(crate) async fn a_table_of_another_name_is_an_outbox_of_its_own<S: Subject>() {
    let (subject, broker) = (S::fresh().await, Broker::new());
    let other = Outbox::new().table("billing_out").expect("a name");
    let mut conn = subject.pool().acquire().await.expect("a connection");
    for _ in 0..2 {
        schema::create_table_if_missing(&mut *conn, "billing_out")
            .await
            .expect("the tables");
    }
    schema::verify_table(&mut *conn, "billing_out")
        .await
        .expect("fit");
    drop(conn);
    subject.append(&other, event("a")).await;
    assert_eq!(subject.in_state(PENDING).await, 0);
    subject
        .relay(&Outbox::new(), &broker)
        .sweep()
        .await
        .expect("swept");
    assert_eq!(broker.names().len(), 0);
    subject.relay(&other, &broker).sweep().await.expect("swept");
    assert_eq!(broker.names(), ["a"]);
    for refused in ["", "Billing", "1out", "a.b.c", "out; --", &"o".repeat(49)] {
        let refused = Outbox::new().table(refused);
        assert!(
            matches!(refused, Err(OutboxError::Table { .. })),
            "{refused:?}"
        );
    }
}

pub(crate) async fn a_table_may_have_the_name_of_a_part_of_a_statement<S: Subject>() {
    let subject = S::fresh().await;
    let mut conn = subject.pool().acquire().await.expect("a connection");
    for name in ["waiting", "due", "claimed"] {
        schema::create_table_if_missing(&mut *conn, name)
            .await
            .expect("the tables");
        let (outbox, broker) = (Outbox::new().table(name).expect("a name"), Broker::new());
        subject.append(&outbox, event("a")).await;
        let relay = subject.relay(&outbox, &broker);
        let swept = in_time("it is published", relay.sweep()).await;
        assert_eq!(swept.expect("swept").published, 1, "{name}");
    }
}

pub(crate) async fn the_migration_is_fit_and_a_missing_table_is_named<S: Subject>() {
    let subject = S::fresh().await;
    assert_eq!(findings(&subject).await, Vec::<String>::new());
    subject.run("DROP TABLE idem_outbox_paused").await;
    let found = findings(&subject).await;
    assert!(found.len() == 1 && found[0].contains("paused"), "{found:?}");
    subject.run("DROP TABLE idem_outbox").await;
    let found = findings(&subject).await;
    assert!(found[0].contains("no such table"), "{found:?}");
    // A relay says so, too, and claims nothing.
    let swept = subject.relay(&Outbox::new(), &Broker::new()).sweep().await;
    assert!(
        matches!(swept, Err(OutboxError::Schema { .. })),
        "{swept:?}"
    );
}

pub(crate) async fn a_table_without_the_index_of_claims_is_unfit<S: Subject>() {
    let subject = S::fresh().await;
    subject.drop_index("idem_outbox_due").await;
    let found = findings(&subject).await;
    assert!(found.len() == 1 && found[0].contains("due_at"), "{found:?}");
    subject.drop_index("idem_outbox_partition").await;
    assert_eq!(findings(&subject).await.len(), 2);
}

pub(crate) async fn a_table_without_the_index_of_ready_events_is_unfit<S: Subject>() {
    let subject = S::fresh().await;
    subject.drop_index("idem_outbox_ready").await;
    let found = findings(&subject).await;
    let names_it = found.len() == 1 && found[0].contains("queued_xid");
    assert!(names_it, "{found:?}");
}

pub(crate) async fn a_sequence_with_a_cache_is_unfit<S: Subject>() {
    let subject = S::fresh().await;
    subject
        .run("ALTER TABLE idem_outbox ALTER COLUMN seq SET CACHE 10")
        .await;
    let found = findings(&subject).await;
    assert!(found.len() == 1 && found[0].contains("cache"), "{found:?}");
}
