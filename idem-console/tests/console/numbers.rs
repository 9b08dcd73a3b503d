//! What is counted, and what is estimated.

use idem_runtime::operate::HourCount;

use crate::client::Client;
use crate::story::{completed, key, lease, unknown};
use crate::subject::Subject;

fn sum(counts: &[HourCount]) -> (u64, u64, u64) {
    counts.iter().fold((0, 0, 0), |sum, count| {
        (
            sum.0 + count.runs,
            sum.1 + count.failures,
            sum.2 + count.unknown,
        )
    })
}

pub(crate) async fn few_records_are_counted_by_the_hour<S: Subject>() {
    let subject = S::fresh().await;
    subject.fill(30, 20).await;
    unknown(&subject, &key("customer-42", "order-1")).await;
    lease(&subject, &key("customer-42", "order-2"), "charge").await;
    let hours = subject.operator().hours(24).await.expect("counted");
    assert!(!hours.is_estimate && !hours.is_cut, "{hours:?}");
    assert_eq!(hours.counts.len(), 24);
    // The hour may end between the records and the look at them.
    let full: Vec<_> = hours
        .counts
        .iter()
        .filter(|count| count.runs == 20)
        .collect();
    assert!(full.len() >= 22, "{hours:?}");
    assert!(full.iter().all(|count| count.failures == 2), "{hours:?}");
    let (runs, _, unknown) = sum(&hours.counts);
    assert!(runs >= 22 * 20 + 2 && unknown == 1, "{hours:?}");
    let begin = hours.begin.as_micros();
    assert_eq!(begin % 3_600_000_000, 0);
    assert!(hours.read_at.as_micros() - begin < 24 * 3_600_000_000);
}

pub(crate) async fn many_records_are_estimated_by_the_hour<S: Subject>() {
    let subject = S::fresh().await;
    // 40,000 records, four of five of them in the hours that are looked at.
    subject.fill(20, 2_000).await;
    let hours = subject.operator().hours(16).await.expect("counted");
    assert!(hours.is_estimate, "{hours:?}");
    // All but this hour, which has none, are full.
    for count in &hours.counts[1..14] {
        let (runs, failures) = (count.runs.abs_diff(2_000), count.failures.abs_diff(200));
        assert!(runs <= 200 && failures <= 80, "{hours:?}");
    }
    let page = Client::of(&subject).get("/").await.page();
    assert!(
        page.contains("≈ ") && page.contains("are estimates"),
        "{page}"
    );
    // A burst of records that end at once does not stand for hours of them.
    let all = subject.number("SELECT count(*) FROM idem_record").await;
    let hours = subject.operator().hours(48).await.expect("counted");
    let (runs, _, _) = sum(&hours.counts);
    assert!(
        i64::try_from(runs).expect("few") <= all + all / 2,
        "{hours:?}"
    );
}

pub(crate) async fn leases_and_what_a_purge_has_left_are_counted<S: Subject>() {
    let subject = S::fresh().await;
    let operator = subject.operator();
    lease(&subject, &key("customer-42", "order-1"), "charge").await;
    subject.lapse().await;
    unknown(&subject, &key("customer-42", "order-2")).await;
    for name in ["order-3", "order-4"] {
        lease(&subject, &key("customer-42", name), "charge").await;
    }
    completed(&subject, &key("customer-42", "order-5")).await;
    let (hour, now) = (S::HOUR, S::NOW);
    let old = format!(
        "UPDATE idem_record SET created_at = {now} - 2 * {hour} WHERE {} = 'order-4'",
        key_column::<S>()
    );
    subject.run(&old).await;
    let health = operator.lease_health().await.expect("counted");
    assert_eq!(
        (health.live, health.lapsed, health.unknown, health.is_cut),
        (2, 1, 1, false)
    );
    assert!(health.first_lapse.is_some() && health.oldest_unknown.is_some());
    let oldest = operator.oldest_in_flight(2).await.expect("found");
    let keys: Vec<_> = oldest
        .iter()
        .map(|record| record.record_key.key())
        .collect();
    assert_eq!(keys[0], "order-4");
    assert_eq!(oldest.len(), 2);
    assert_eq!(operator.purge_health().await.expect("counted").expired, 0);
    let expire = format!("UPDATE idem_record SET expires_at = {now} - {hour} WHERE status = 1");
    subject.run(&expire).await;
    let purge = operator.purge_health().await.expect("counted");
    assert_eq!((purge.expired, purge.is_cut), (1, false));
    assert!(purge.oldest.is_some_and(|oldest| oldest < purge.read_at));
}

fn key_column<S: Subject>() -> &'static str {
    if S::HOUR == "3600000000" && S::NOW.starts_with("TIMESTAMPDIFF") {
        "`key`"
    } else {
        "key"
    }
}
