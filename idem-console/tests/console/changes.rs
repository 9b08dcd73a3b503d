//! Changes of records.

use idem_runtime::operate::{RecordKey, Resolution};
use idem_runtime::{Namespace, Scope, StoredFailure};

use crate::client::{Client, console, record};
use crate::story::{audited, completed, count, key, lease, unknown};
use crate::subject::Subject;

const RESOLVE: &str = "/record/resolve";
const RELEASE: &str = "/record/release";

fn record_key(name: &str) -> RecordKey {
    let scope = Scope::new("customer-42").expect("a scope");
    RecordKey::new(
        Namespace::from_static("payments"),
        scope,
        &key("customer-42", name),
    )
}

pub(crate) async fn an_outcome_is_resolved_in_each_way_with_its_row_of_the_audit_table<
    S: Subject,
>() {
    let subject = S::fresh().await;
    let client = Client::of(&subject);
    for (name, status, fields) in [
        (
            "order-1",
            1,
            &[
                ("outcome", "completed"),
                ("result", " {\"charge\":\"ch_1\"} "),
                ("version", "3"),
            ][..],
        ),
        (
            "order-2",
            2,
            &[
                ("outcome", "failed"),
                ("class", "Declined"),
                ("message", "no funds"),
                ("data", "{\"code\":51}"),
            ],
        ),
        ("order-3", 5, &[("outcome", "never-happened")]),
    ] {
        unknown(&subject, &key("customer-42", name)).await;
        let page = record("customer-42", name);
        let fields = [fields, &[("reason", "ticket 17: the provider's page")]].concat();
        let done = client.fill(&page, RESOLVE, &fields).await;
        assert_eq!(done.sent_to(), format!("{page}&done=resolved"));
        assert_eq!(count(&subject, status).await, 1, "{name}");
        let written = format!(
            "actor = 'ada' AND action = 'resolve' AND record_key = '{name}' AND scope = 'customer-42' \
             AND reason = 'ticket 17: the provider''s page'"
        );
        assert_eq!(audited(&subject, &written).await, 1, "{name}");
        let page = client.get(done.sent_to()).await.page();
        assert!(page.contains("The outcome is resolved"), "{page}");
        assert!(page.contains("ticket 17"), "{page}");
    }
    let stored = subject.operator().show(&record_key("order-1")).await;
    let stored = stored.expect("read").expect("a record");
    assert_eq!(
        stored.result.as_deref(),
        Some(&b"{\"charge\":\"ch_1\"}"[..])
    );
    assert_eq!(stored.payload_version, Some(3));
    let stored = subject.operator().show(&record_key("order-2")).await;
    let failure = stored.expect("read").and_then(|stored| stored.failure);
    let failure: StoredFailure = serde_json::from_slice(&failure.expect("a failure")).expect("one");
    assert_eq!(failure.data["code"], 51);
    assert_eq!(audited(&subject, "1 = 1").await, 3);
}

pub(crate) async fn a_lapsed_lease_is_released<S: Subject>() {
    let subject = S::fresh().await;
    let client = Client::of(&subject);
    lease(&subject, &key("customer-42", "order-1"), "charge").await;
    let page = record("customer-42", "order-1");
    // A live lease has no form.
    let shown = client.get(&page).await.page();
    assert!(
        !shown.contains(RELEASE) && !shown.contains(RESOLVE),
        "{shown}"
    );
    subject.lapse().await;
    let unknown = client.get("/unknown").await.page();
    assert!(unknown.contains("lease lapsed"), "{unknown}");
    let done = client
        .fill(&page, RELEASE, &[("reason", "the node is gone")])
        .await;
    assert_eq!(done.sent_to(), format!("{page}&done=released"));
    assert_eq!(count(&subject, 5).await, 1);
    assert_eq!(
        audited(
            &subject,
            "action = 'release' AND reason = 'the node is gone'"
        )
        .await,
        1
    );
}

pub(crate) async fn a_record_that_has_changed_since_is_not_resolved<S: Subject>() {
    let subject = S::fresh().await;
    unknown(&subject, &key("customer-42", "order-1")).await;
    let (ada, bob) = (Client::of(&subject), Client::of(&subject));
    let page = record("customer-42", "order-1");
    let shown = bob.get(&page).await.page();
    let mut fields = crate::client::hidden(crate::client::form(&shown, RESOLVE).expect("a form"));
    fields.extend(
        [("outcome", "never-happened"), ("reason", "r")].map(|(a, b)| (a.into(), b.into())),
    );
    let encoded = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish();
    let resolution = [
        ("outcome", "completed"),
        ("result", "1"),
        ("reason", "first"),
    ];
    ada.fill(&page, RESOLVE, &resolution).await.sent_to();
    bob.post(RESOLVE, encoded)
        .await
        .refused(409, "has changed since your page was made");
    assert_eq!(count(&subject, 1).await, 1);
    assert_eq!(audited(&subject, "1 = 1").await, 1);
    // The library itself refuses what was read before, whatever the page says.
    let operator = subject.operator();
    unknown(&subject, &key("customer-42", "order-2")).await;
    let read = operator
        .show(&record_key("order-2"))
        .await
        .expect("read")
        .expect("a record");
    ada.fill(
        &record("customer-42", "order-2"),
        RELEASE,
        &[("reason", "r")],
    )
    .await
    .sent_to();
    let author = idem_runtime::operate::Author::new("bob", "r").expect("names");
    let late = operator
        .resolve(&read.summary, &Resolution::NeverHappened, &author)
        .await;
    assert!(late.is_err(), "{late:?}");
}

pub(crate) async fn a_form_without_what_it_needs_changes_nothing<S: Subject>() {
    let subject = S::fresh().await;
    unknown(&subject, &key("customer-42", "order-1")).await;
    let client = Client::of(&subject);
    let page = record("customer-42", "order-1");
    let long = "r".repeat(4_001);
    for (fields, sentence) in [
        (&[("outcome", "never-happened")][..], "A reason is missing"),
        (
            &[("outcome", "never-happened"), ("reason", " ")],
            "A reason is missing",
        ),
        (
            &[("outcome", "never-happened"), ("reason", &*long)],
            "1 to 4000 characters",
        ),
        (&[("reason", "r")], "not said what became"),
        (
            &[("outcome", "perhaps"), ("reason", "r")],
            "not said what became",
        ),
        (
            &[("outcome", "completed"), ("reason", "r")],
            "result is missing",
        ),
        (
            &[("outcome", "completed"), ("result", "{"), ("reason", "r")],
            "is not JSON",
        ),
        (
            &[("outcome", "failed"), ("message", "m"), ("reason", "r")],
            "class of the failure is missing",
        ),
        (
            &[("outcome", "failed"), ("class", "c"), ("reason", "r")],
            "message of the failure is missing",
        ),
    ] {
        client
            .fill(&page, RESOLVE, fields)
            .await
            .refused(400, sentence);
    }
    let large = format!("\"{}\"", "x".repeat(2 * 1024 * 1024));
    let fields = [
        ("outcome", "completed"),
        ("result", &*large),
        ("reason", "r"),
    ];
    client
        .fill(&page, RESOLVE, &fields)
        .await
        .refused(400, "the limit is 1048576");
    let large = "x".repeat(5 * 1024 * 1024);
    let fields = [
        ("outcome", "completed"),
        ("result", &*large),
        ("reason", "r"),
    ];
    client
        .fill(&page, RESOLVE, &fields)
        .await
        .refused(413, "too large");
    assert_eq!(count(&subject, 4).await, 1);
    assert_eq!(audited(&subject, "1 = 1").await, 0);
}

pub(crate) async fn of_two_scopes_only_the_named_one_is_changed<S: Subject>() {
    let subject = S::fresh().await;
    for scope in ["customer-1", "customer-2"] {
        unknown(&subject, &key(scope, "order-1")).await;
    }
    completed(&subject, &key("customer-3", "order-1")).await;
    let client = Client::new(console(&subject).router(), "ada change");
    let fields = [("outcome", "never-happened"), ("reason", "r")];
    let page = record("customer-1", "order-1");
    client.fill(&page, RESOLVE, &fields).await.sent_to();
    let of = |scope: &str, status: u8| {
        format!("SELECT count(*) FROM idem_record WHERE scope = '{scope}' AND status = {status}")
    };
    assert_eq!(subject.number(&of("customer-1", 5)).await, 1);
    assert_eq!(subject.number(&of("customer-2", 4)).await, 1);
    assert_eq!(subject.number(&of("customer-3", 1)).await, 1);
    let other = client.get(&record("customer-2", "order-1")).await.page();
    assert!(
        other.contains("None.") && other.contains(RESOLVE),
        "{other}"
    );
}
