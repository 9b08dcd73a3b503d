//! What goes wrong is a page with a sentence and what mends it.

use std::time::Duration;

use idem_console::Console;

use crate::client::{Client, authorise, console, record};
use crate::story::{count, key, unknown};
use crate::subject::Subject;

pub(crate) async fn a_missing_table_is_a_sentence<S: Subject>() {
    let subject = S::fresh().await;
    let other = console(&subject)
        .table("elsewhere")
        .expect("a name")
        .router();
    let other = Client::new(other, "ada");
    for path in ["/", "/unknown", "/health", "/search?q=k", &record("s", "k")] {
        let page = other
            .get(path)
            .await
            .refused(500, "The table elsewhere does not exist.");
        assert!(page.body.contains("idem schema print"), "{page:?}");
    }
    subject.run("DROP TABLE idem_outbox").await;
    let client = Client::of(&subject);
    for path in ["/", "/outbox"] {
        client
            .get(path)
            .await
            .refused(500, "The table idem_outbox does not exist.");
    }
    client.get("/unknown").await.page();
}

pub(crate) async fn a_table_of_another_version_is_a_sentence<S: Subject>() {
    let subject = S::fresh().await;
    let old = "CREATE TABLE old_record (namespace varchar(64), status integer)";
    subject.run(old).await;
    let client = console(&subject)
        .table("old_record")
        .expect("a name")
        .router();
    let client = Client::new(client, "ada");
    for path in ["/", "/unknown", "/health"] {
        let page = client
            .get(path)
            .await
            .refused(500, "is of another version: it lacks a column");
        assert!(page.body.contains("old_record"), "{page:?}");
    }
}

pub(crate) async fn without_an_audit_table_records_are_shown_and_none_is_changed<S: Subject>() {
    let subject = S::fresh().await;
    unknown(&subject, &key("customer-42", "order-1")).await;
    subject.run("DROP TABLE idem_audit").await;
    let client = Client::of(&subject);
    let page = record("customer-42", "order-1");
    let shown = client.get(&page).await.page();
    assert!(
        shown.contains("order-1") && shown.contains("idem schema print --only audit"),
        "{shown}"
    );
    let fields = [("outcome", "never-happened"), ("reason", "r")];
    let refused = client.fill(&page, "/record/resolve", &fields).await;
    refused.refused(500, "cannot take the row that says who changed what");
    client.get("/changes").await.refused(500, "idem_audit");
    assert_eq!(count(&subject, 4).await, 1);
}

pub(crate) async fn a_database_that_is_down_is_a_sentence<S: Subject>() {
    let console = Console::new(S::dead_pool(), authorise).deadline(Duration::from_millis(200));
    let client = Client::new(console.router(), "ada change");
    for path in [
        "/",
        "/unknown",
        "/outbox",
        "/health",
        "/changes",
        "/search?q=k",
        &record("s", "k"),
    ] {
        let page = client.get(path).await;
        let page = page.refused(503, "The database");
        assert!(
            page.body.contains("Check that the database runs"),
            "{page:?}"
        );
        assert!(!page.body.contains("127.0.0.1"), "{page:?}");
    }
    client.get("/style.css").await.page();
}

pub(crate) async fn what_is_not_there_is_a_sentence<S: Subject>() {
    let subject = S::fresh().await;
    let client = Client::of(&subject);
    for (path, status, sentence) in [
        ("/nowhere", 404, "There is no such page."),
        (&*record("s", "k"), 404, "has no record"),
        ("/record", 400, "amespace"),
        ("/record?namespace=UPPER&key=k", 400, "amespace"),
        ("/event?id=xyz", 400, "64 lower-case hexadecimal digits"),
        (
            &format!("/event?id={}", "0".repeat(64)),
            404,
            "no event of this id",
        ),
        ("/outbox?before=x", 400, "is no number"),
    ] {
        client.get(path).await.refused(status, sentence);
    }
}
