//! The outbox.

use crate::client::{Client, console};
use crate::story::{append, audited, sweep};
use crate::subject::Subject;

const REQUEUE: &str = "/outbox/requeue";

pub(crate) async fn a_dead_event_is_shown_and_requeued<S: Subject>() {
    let subject = S::fresh().await;
    let dead = append(&subject, "cases", "a").await;
    append(&subject, "cases", "b").await;
    assert_eq!(
        sweep(&subject, "cases", "the schema has no such event").await,
        (0, 2)
    );
    let client = Client::of(&subject);
    let page = format!("/event?id={}", dead.as_str());
    let shown = client.get(&page).await.page();
    assert!(
        shown.contains("the schema has no such event") && shown.contains("dead"),
        "{shown}"
    );
    client
        .fill(&page, REQUEUE, &[])
        .await
        .refused(400, "A reason is missing");
    let done = client
        .fill(&page, REQUEUE, &[("reason", "the schema has it now")])
        .await;
    let to = done.sent_to().to_owned();
    let written = format!(
        "actor = 'ada' AND action = 'requeue' AND event_id = '{}'",
        dead.as_str()
    );
    assert_eq!(audited(&subject, &written).await, 1);
    let shown = client.get(&to).await.page();
    assert!(
        shown.contains("a relay publishes again") && shown.contains("the schema has it now"),
        "{shown}"
    );
    assert!(!shown.contains(REQUEUE), "{shown}");
    assert_eq!(sweep(&subject, "", "").await, (1, 0));
    let token = client.get("/outbox").await.page();
    let token = crate::client::hidden(crate::client::form(&token, REQUEUE).expect("a form"));
    let token = &token
        .iter()
        .find(|(name, _)| name == "token")
        .expect("a token")
        .1;
    let again = format!("token={token}&reason=r&id={}", dead.as_str());
    client
        .post(REQUEUE, again)
        .await
        .refused(409, "no such dead event");
    client
        .post(REQUEUE, format!("token={token}&reason=r"))
        .await
        .refused(400, "Name one event");
    assert_eq!(audited(&subject, "1 = 1").await, 1);
}

pub(crate) async fn a_topic_is_requeued_and_resumed<S: Subject>() {
    let subject = S::fresh().await;
    for name in ["a", "b"] {
        append(&subject, "cases", name).await;
    }
    assert_eq!(sweep(&subject, "cases", "no").await, (0, 2));
    let now = S::NOW;
    subject
        .run(&format!(
            "INSERT INTO idem_outbox_paused (topic, paused_at) VALUES ('mails', {now})"
        ))
        .await;
    let client = Client::of(&subject);
    let reader = Client::new(console(&subject).router(), "ada");
    let page = reader.get("/outbox").await.page();
    assert!(
        page.contains("mails") && page.contains("cases") && !page.contains("<form"),
        "{page}"
    );
    let reason = [("reason", "the broker is well")];
    let done = client.fill("/outbox", REQUEUE, &reason).await;
    assert_eq!(done.sent_to(), "/outbox?done=requeued");
    assert_eq!(
        audited(&subject, "action = 'requeue' AND scope = 'cases'").await,
        1
    );
    assert_eq!(sweep(&subject, "", "").await, (2, 0));
    let done = client.fill("/outbox", "/outbox/resume", &reason).await;
    assert_eq!(done.sent_to(), "/outbox?done=resumed");
    assert_eq!(
        audited(&subject, "action = 'resume' AND scope = 'mails'").await,
        1
    );
    let without = Client::new(console(&subject).without_outbox().router(), "ada change");
    without.get("/outbox").await.refused(404, "no such page");
    assert!(!without.get("/").await.page().contains("Dead events"));
}
