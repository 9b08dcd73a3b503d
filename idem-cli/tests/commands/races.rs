//! Who is first.

use idem_runtime::operate::{Author, Filter, OperateError, RecordSummary, Resolution};
use idem_runtime::policy::OnLapse;

use crate::program::signed;
use crate::story::{ORDER, audited, count, lease, store, unknown};
use crate::subject::Subject;

fn author() -> Author {
    Author::new("ada", "ticket 17").expect("names")
}

/// The one record, as an operator has read it.
async fn read<S: Subject>(subject: &S) -> RecordSummary {
    let listed = subject.operator().list(&Filter::default()).await;
    listed.expect("listed").remove(0)
}

pub(crate) async fn an_owner_that_came_back_first_keeps_its_lease<S: Subject>() {
    for on_lapse in [OnLapse::Retry, OnLapse::Unknown] {
        let subject = S::fresh().await;
        let owner = lease(&subject, "order-17", on_lapse).await;
        subject.lapse().await;
        let lapsed = read(&subject).await;
        assert!(lapsed.is_lapsed());
        {
            let mut conn = subject.pool().acquire().await.expect("a connection");
            let store = store();
            let mut bound = store.in_connection(&mut *conn);
            bound.extend(&owner).await.expect("nobody took it");
        }
        let refused = subject.operator().release(&lapsed, &author()).await;
        assert!(matches!(refused, Err(OperateError::Changed)), "{refused:?}");
        let resolution = Resolution::NeverHappened;
        let refused = subject
            .operator()
            .resolve(&lapsed, &resolution, &author())
            .await;
        assert!(refused.is_err(), "{refused:?}");
        assert_eq!((count(&subject, 3).await, audited(&subject).await), (1, 0));
    }
}

pub(crate) async fn of_two_operators_one_resolves<S: Subject>() {
    let subject = S::fresh().await;
    let _owner = unknown(&subject, "order-17").await;
    let operator = subject.operator();
    let (one, two) = (read(&subject).await, read(&subject).await);
    let author = author();
    let completed = Resolution::Completed(b"1".to_vec());
    let (first, second) = tokio::join!(
        operator.resolve(&one, &completed, &author),
        operator.resolve(&two, &Resolution::NeverHappened, &author),
    );
    assert!(first.is_ok() != second.is_ok(), "{first:?}, {second:?}");
    assert_eq!(count(&subject, 1).await + count(&subject, 5).await, 1);
    assert_eq!(audited(&subject).await, 1);
}

pub(crate) async fn a_change_whose_audit_row_fails_is_undone<S: Subject>() {
    let subject = S::fresh().await;
    let _owner = unknown(&subject, "order-17").await;
    let long = "x".repeat(300);
    let args = ["--result", "1", "--by", &long];
    let refused = signed(
        &subject,
        &[&["resolve", "completed"], &ORDER[..], &args].concat(),
    )
    .await;
    refused.refused(2, "the name of the operator must have 1 to 255 characters");
    // A column that takes no name at all stands for any failure of the second statement.
    subject
        .run("ALTER TABLE idem_audit RENAME COLUMN reason TO reasons")
        .await;
    let args = ["--result", "1"];
    let refused = signed(
        &subject,
        &[&["resolve", "completed"], &ORDER[..], &args].concat(),
    )
    .await;
    refused.refused(
        3,
        "cannot take the row that says who changed what (it lacks a column)",
    );
    assert_eq!((count(&subject, 4).await, audited(&subject).await), (1, 0));
}
