//! What the errors say of themselves, and what the guide says of them.

use std::collections::HashMap;

use super::*;

#[test]
fn only_passing_conditions_are_retryable() {
    assert!(Error::in_flight(Duration::from_secs(1)).is_retryable());
    assert!(Error::FreshTransactionNeeded.is_retryable());
    assert!(!Error::NestedSameKey.is_retryable());
    assert!(!Error::TransactionEnded.is_retryable());
    assert!(
        !Error::UnknownState {
            what: "status",
            value: 9
        }
        .is_retryable()
    );
}

#[test]
fn statuses_are_those_of_the_draft() {
    assert_eq!(
        Error::KeyMissing {
            operation: "pay".into()
        }
        .status(),
        400
    );
    assert_eq!(Error::in_flight(Duration::from_secs(1)).status(), 409);
    let unknown = Error::OutcomeUnknown {
        operation: "send".to_owned(),
        attempt_id: Uuid::nil(),
        attempt: 1,
    };
    assert_eq!(unknown.status(), 409);
    assert!(!unknown.is_retryable());
    assert_eq!(Error::LeaseLost.status(), 503);
    assert_eq!(Error::NestedSameKey.status(), 500);
}

#[test]
fn an_attempt_in_flight_and_a_limit_say_when_to_come_back() {
    let wait = Duration::from_millis(250);
    assert_eq!(Error::in_flight(wait).retry_after(), Some(wait));
    let limit = Error::TooManyRuns {
        limit: 1,
        retry_after: wait,
    };
    assert_eq!(limit.retry_after(), Some(wait));
    assert_eq!(Error::FreshTransactionNeeded.retry_after(), None);
}

fn database() -> DatabaseError {
    sqlx::Error::PoolTimedOut.into()
}

/// One of each kind, in the order of their declaration.
fn every_error() -> Vec<Error> {
    let text = || "text".to_owned();
    vec![
        Invalid::new(Field::Key, Reason::Empty).into(),
        Error::KeyMissing {
            operation: "pay".into(),
        },
        Error::ScopeMissing {
            operation: "pay".into(),
        },
        Error::in_flight(Duration::ZERO),
        Error::Mismatch(Box::new(Mismatch::new(text(), text()))),
        Error::RecordedFailure(Box::new(StoredFailure::new("class", "message"))),
        Error::OutcomeUnknown {
            operation: text(),
            attempt_id: Uuid::nil(),
            attempt: 1,
        },
        Error::LeaseLost,
        Error::LeaseInTransaction,
        Error::TooManyRuns {
            limit: 2,
            retry_after: Duration::from_secs(1),
        },
        Error::NestedSameKey,
        Error::AlreadyInTransaction,
        Error::NotInTransaction,
        Error::TransactionEnded,
        Error::TableMoved { table: text() },
        Error::PermissionDenied {
            table: text(),
            privilege: "INSERT",
            source: database(),
        },
        Error::StatementUnfinished(database()),
        Error::TransactionAborted,
        Error::TransactionLost(database()),
        Error::FreshTransactionNeeded,
        Error::RecordInvisible,
        Error::RecordNotWritten,
        Error::CommitFailed(database()),
        Error::CommitUnknown(database()),
        Error::Busy(database()),
        Error::StatementsLost(database()),
        Error::LockTableFull(database()),
        Error::ReadOnly(database()),
        Error::Unavailable(database()),
        Error::Database(database()),
        Error::IncompatibleState {
            operation: text(),
            type_name: "T",
            path: text(),
            message: text(),
            version: None,
        },
        Error::NotStorable {
            operation: text(),
            type_name: "T",
            reason: "reason",
            message: text(),
        },
        Error::TooLargeToRecord {
            operation: text(),
            what: "result",
            size: 2,
            limit: 1,
        },
        Error::UnknownState {
            what: "status",
            value: 9,
        },
        Error::Archive(text().into()),
        CodecFault::NotInstalled { codec: "PAYMENTS" }.into(),
        SchemaFault::ReadUncommitted.into(),
    ]
}

/// The rows of the guide's table of refusals: name, status, and the word on retries.
fn table() -> HashMap<&'static str, (u16, &'static str)> {
    let (_, section) = include_str!("../../../../docs/guide/failures.md")
        .split_once("## Refusals")
        .expect("the section");
    let mut table = HashMap::new();
    for row in section
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(1)
    {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let Ok(status) = cells[2].parse() else { break };
        for name in cells[1].split(", ") {
            table.insert(name.trim_matches('`'), (status, cells[3]));
        }
    }
    table
}

#[test]
fn the_guide_says_of_each_refusal_what_the_error_says_itself() {
    let table = table();
    let others = table["all others"];
    let errors = every_error();
    let mut named = 0;
    for error in &errors {
        let printed = format!("{error:?}");
        let name = printed
            .split(|c: char| !c.is_ascii_alphanumeric())
            .next()
            .unwrap();
        named += usize::from(table.contains_key(name));
        let (status, retry) = table.get(name).copied().unwrap_or(others);
        assert_eq!(error.status(), status, "{name}");
        assert_eq!(error.is_retryable(), retry != "no", "{name}");
        assert_eq!(
            error.retry_after().is_some(),
            retry.contains("retry_after()"),
            "{name}"
        );
    }
    assert_eq!(named, table.len() - 1, "a name that is no error's");
    let declared = include_str!("mod.rs")
        .lines()
        .filter(|line| line.trim_start().starts_with("#[error("));
    assert_eq!(declared.count(), errors.len());
}
