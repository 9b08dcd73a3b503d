//! What a console relies on.

use sqlx::SqlitePool;

use super::{Author, Examination, Filter, Operator, RecordKey, Search, Sought};
use crate::values::key::{IdempotencyKey, Namespace, Scope};

fn is_send<T: Send>(_: &T) {}

#[tokio::test]
async fn every_answer_may_be_awaited_on_another_thread() {
    let pool = SqlitePool::connect_lazy("sqlite::memory:").expect("a URL");
    let operator = Operator::new(pool);
    let author = Author::new("ada", "ticket 17").expect("names");
    let scope = Scope::new("customer-42").expect("a scope");
    let key: IdempotencyKey = "order-17".parse().expect("a key");
    let record_key = RecordKey::new(Namespace::from_static("payments"), scope.clone(), &key);
    is_send(&operator.list(&Filter::default()));
    is_send(&operator.stats());
    is_send(&operator.show(&record_key));
    is_send(&operator.forget(&scope, &author));
    is_send(&operator.purge(None, &author));
    is_send(&operator.hours(24));
    is_send(&operator.lease_health());
    is_send(&operator.oldest_in_flight(5));
    is_send(&operator.purge_health());
    is_send(&operator.changes_of(&record_key));
    is_send(&operator.search(&Search::new(Sought::Hash("0123456789ab".to_owned()))));
    is_send(&operator.examine(&Examination::default()));
}

#[test]
fn an_author_has_a_name_and_a_reason() {
    for (actor, reason) in [("", "r"), ("a", " "), ("a\u{7}", "r"), ("a", "r\n")] {
        assert!(Author::new(actor, reason).is_err(), "{actor:?} {reason:?}");
    }
    assert!(Author::new("a".repeat(255), "r".repeat(4_000)).is_ok());
    assert!(Author::new("a".repeat(256), "r").is_err());
}
