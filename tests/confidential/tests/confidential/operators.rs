//! What an operator without keys sees and may do.

use idem_runtime::StoredFailure;
use idem_runtime::operate::{Author, Comparison, OperateError, PayloadForm, Resolution, Submitted};
use idem_runtime::policy::{Lease, OnLapse};
use idem_runtime::store::Outcome;

use crate::desk::{charge, encrypting, first, key, pay, store};
use crate::subject::Subject;

pub(crate) async fn an_operator_sees_the_form_and_the_id_of_the_key<S: Subject>() {
    let (subject, codec) = (S::fresh().await, encrypting());
    first(&subject, pay(codec).record_request(), &key("k")).await;
    let record = subject.show(&key("k")).await.expect("it is there");
    let encrypted = Some(PayloadForm::Encrypted { key_id: 1 });
    assert_eq!(record.forms(), [encrypted, encrypted, None]);
    assert_eq!(record.summary.codec, 2);
    let request = br#"{"card":"x"}"#;
    let submitted = Submitted {
        operation: "pay",
        request,
    };
    let explained = record.explain(submitted).expect("JSON");
    assert_eq!(
        (explained.verdict, explained.key_id),
        (Comparison::Keyed, Some(1))
    );
    assert!(explained.differences.is_empty() && explained.hints.is_empty());
}

pub(crate) async fn an_operator_resolves_nothing_in_clear<S: Subject>() {
    let (subject, codec) = (S::fresh().await, encrypting());
    let lease = Lease::new(std::time::Duration::from_mins(5), OnLapse::Unknown);
    let protected = store(Some(codec));
    let mut conn = subject.pool().acquire().await.expect("a connection");
    let mut bound = protected.in_connection(&mut *conn);
    let begun = bound
        .begin_leased(&key("k"), "pay", &charge(), lease.expect("a lease"))
        .await;
    assert!(matches!(begun, Ok(Outcome::Fresh(_))), "{begun:?}");
    drop(conn);
    subject.lapse().await;
    let record = subject.show(&key("k")).await.expect("it is there");
    let author = Author::new("ada", "asked").expect("a name");
    for resolution in [
        Resolution::Completed(b"1".to_vec()),
        Resolution::Failed(StoredFailure::new("Declined", "m")),
    ] {
        let refused = subject
            .operator()
            .resolve(&record.summary, &resolution, &author)
            .await;
        assert!(
            matches!(refused, Err(OperateError::Protected)),
            "{refused:?}"
        );
    }
    assert_eq!(subject.number("SELECT count(*) FROM idem_audit").await, 0);
    let never = Resolution::NeverHappened;
    let resolved = subject
        .operator()
        .resolve(&record.summary, &never, &author)
        .await;
    resolved.expect("nothing is written in clear");
}
