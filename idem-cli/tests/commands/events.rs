//! The outbox.

use std::time::Duration;

use idem_messaging::outbox::{
    Event, EventId, Origin, Outbox, OutboxEvent, PublishError, Publisher, Relay,
};
use idem_runtime::{IdempotencyKey, Operation};
use serde_json::json;

use crate::program::{idem, signed};
use crate::story::audited;
use crate::subject::Subject;

const ESCALATE: Operation = Operation::new("cases", "escalate");

/// A broker that keeps nothing of some topics.
struct Broker(&'static [&'static str]);

impl Publisher for Broker {
    async fn publish(&self, event: &OutboxEvent) -> Result<(), PublishError> {
        if self.0.contains(&event.topic()) {
            Err(PublishError::permanent("the schema has no such event"))
        } else {
            Ok(())
        }
    }
}

/// Appends an event whose payload is a secret.
pub(crate) async fn append<S: Subject>(subject: &S, topic: &str, name: &str) -> EventId {
    let key = name.parse::<IdempotencyKey>().expect("a key").global();
    let origin = Origin::of(ESCALATE, &key).expect("an origin");
    let event = Event::builder(&origin, "escalated")
        .topic(topic)
        .event_type("com.example.case.escalated.v1")
        .payload("text/plain", "tangerine")
        .build()
        .expect("an event");
    let mut tx = subject.pool().begin().await.expect("a transaction");
    let id = Outbox::new()
        .append(&mut tx, event)
        .await
        .expect("appended");
    tx.commit().await.expect("committed");
    id
}

/// Runs a relay until nothing is due, and returns how many events were published and how many set aside.
pub(crate) async fn sweep<S: Subject>(subject: &S, refused: &'static [&'static str]) -> (u64, u64) {
    let relay = Relay::new(subject.pool().clone(), &Outbox::new(), Broker(refused))
        .publish_timeout(Duration::from_mins(10))
        .lease(Duration::from_hours(1));
    let swept = relay.sweep().await.expect("swept");
    (swept.published, swept.dead)
}

pub(crate) async fn dead_events_are_counted_listed_and_shown_without_their_payload<S: Subject>() {
    let subject = S::fresh().await;
    let dead = append(&subject, "cases", "a").await;
    assert_eq!(sweep(&subject, &["cases"]).await, (0, 1));
    append(&subject, "mails", "b").await;
    let stats = idem(&subject, &["outbox", "stats", "--json"])
        .await
        .done()
        .json();
    let stats: Vec<_> = stats
        .as_array()
        .expect("a list")
        .iter()
        .map(|count| {
            (
                count["topic"].clone(),
                count["state"].clone(),
                count["events"].clone(),
            )
        })
        .collect();
    let expected = [("cases", "dead"), ("mails", "pending")];
    assert_eq!(
        stats,
        expected.map(|(topic, state)| (json!(topic), json!(state), json!(1)))
    );
    let listed = idem(&subject, &["outbox", "list", "--state", "dead", "--json"])
        .await
        .done();
    assert!(!listed.out.contains("tangerine"), "{listed:?}");
    let listed = listed.json();
    let events = listed["events"].as_array();
    assert_eq!(events.map(Vec::len), Some(1), "{listed}");
    assert_eq!(listed["events"][0]["id"], dead.as_str());
    assert_eq!(listed["cut"], false);
    let cut = idem(&subject, &["outbox", "list", "--limit", "1"])
        .await
        .done();
    assert!(cut.out.contains("cut at 1: there are more"), "{cut:?}");
    let of_topic = idem(&subject, &["outbox", "list", "--topic", "mails", "--json"])
        .await
        .json();
    assert_eq!(of_topic["events"][0]["state"], "pending");
    for json in [&[][..], &["--json"]] {
        let shown = idem(
            &subject,
            &[&["outbox", "show", dead.as_str()], json].concat(),
        )
        .await
        .done();
        assert!(
            shown.out.contains("the schema has no such event"),
            "{shown:?}"
        );
        assert!(!shown.out.contains("tangerine"), "{shown:?}");
        let revealed = ["outbox", "show", dead.as_str(), "--reveal"];
        let shown = idem(&subject, &[&revealed, json].concat()).await.done();
        assert!(shown.out.contains("tangerine"), "{shown:?}");
    }
    idem(&subject, &["outbox", "show", "xyz"])
        .await
        .refused(2, "64 lower-case hexadecimal digits");
    idem(&subject, &["outbox", "show", &"0".repeat(64)])
        .await
        .refused(1, "no event of this id");
    let other = ["outbox", "stats", "--outbox-table", "elsewhere"];
    idem(&subject, &other)
        .await
        .refused(3, "the table `elsewhere` does not exist");
}

pub(crate) async fn dead_events_are_requeued_and_published<S: Subject>() {
    let subject = S::fresh().await;
    let one = append(&subject, "cases", "a").await;
    for name in ["b", "c"] {
        append(&subject, "cases", name).await;
    }
    assert_eq!(sweep(&subject, &["cases"]).await, (0, 3));
    let requeue = ["outbox", "requeue", one.as_str()];
    signed(&subject, &requeue).await.done();
    signed(&subject, &requeue)
        .await
        .refused(1, "there is no such dead event; nothing was changed");
    assert_eq!(sweep(&subject, &[]).await, (1, 0));
    let all = signed(&subject, &["outbox", "requeue", "--topic", "cases"])
        .await
        .done();
    assert_eq!(all.out, "events requeued: 2\n");
    assert_eq!(sweep(&subject, &[]).await, (2, 0));
    assert_eq!(audited(&subject).await, 2);
    let sql = format!(
        "SELECT count(*) FROM idem_audit WHERE event_id = '{}'",
        one.as_str()
    );
    assert_eq!(subject.number(&sql).await, 1);
}

pub(crate) async fn dead_events_are_dropped_and_no_others<S: Subject>() {
    let subject = S::fresh().await;
    append(&subject, "cases", "a").await;
    assert_eq!(sweep(&subject, &["cases"]).await, (0, 1));
    let pending = append(&subject, "cases", "b").await;
    let drop = ["outbox", "drop", pending.as_str()];
    signed(&subject, &drop)
        .await
        .refused(1, "no such dead event");
    let all = ["outbox", "drop", "--topic", "cases"];
    idem(&subject, &[&all[..], &["--reason", "r"]].concat())
        .await
        .refused(2, "no terminal");
    assert_eq!(
        signed(&subject, &all).await.done().out,
        "events dropped: 1\n"
    );
    assert_eq!(sweep(&subject, &[]).await, (1, 0));
    assert_eq!(audited(&subject).await, 1);
}

pub(crate) async fn a_paused_topic_is_resumed<S: Subject>() {
    let subject = S::fresh().await;
    let now = S::NOW;
    subject
        .run(&format!(
            "INSERT INTO idem_outbox_paused (topic, paused_at) VALUES ('cases', {now})"
        ))
        .await;
    append(&subject, "cases", "a").await;
    assert_eq!(sweep(&subject, &[]).await, (0, 0));
    let stats = idem(&subject, &["outbox", "stats"]).await.done().out;
    assert!(
        stats.contains("cases (paused)") && stats.contains("held"),
        "{stats}"
    );
    signed(&subject, &["outbox", "resume", "mails"])
        .await
        .refused(1, "the topic is not paused");
    let resumed = signed(&subject, &["outbox", "resume", "cases"])
        .await
        .done();
    assert_eq!(resumed.out, "events resumed: 1\n");
    assert_eq!(sweep(&subject, &[]).await, (1, 0));
    assert_eq!(audited(&subject).await, 1);
}
