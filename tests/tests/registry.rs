//! The registry of handlers in a program with faults: this test binary.

#![allow(
    dead_code,
    reason = "the handlers are registered, and nobody calls them"
)]

use std::time::Duration;

use idem_runtime::policy::{Failures, OnConflict, OnLapse, Policy};
use idem_runtime::registry::{self, Handler, KeySource};
use idem_runtime::{Attempt, Error, Failure, IdempotencyKey, StoredFailure, idempotent};
use sqlx::sqlite::SqliteTransaction;

mod orders {
    use super::*;

    #[idempotent(namespace = "shop")]
    pub(crate) async fn create(
        _tx: &mut SqliteTransaction<'_>,
        key: &IdempotencyKey,
    ) -> Result<(), Error> {
        Ok(())
    }
}

mod invoices {
    use super::*;

    #[idempotent(namespace = "shop")]
    pub(crate) async fn create(
        _tx: &mut SqliteTransaction<'_>,
        key: &IdempotencyKey,
    ) -> Result<(), Error> {
        Ok(())
    }
}

struct Account<T>(T);

impl<T> Account<T> {
    #[idempotent(namespace = "bank", operation = "account.close", skip(self))]
    async fn close(
        &self,
        _tx: &mut SqliteTransaction<'_>,
        key: &IdempotencyKey,
    ) -> Result<(), Error> {
        Ok(())
    }

    /// The attribute cannot see that the function is in an `impl`.
    #[idempotent(namespace = "bank")]
    async fn open(_tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey) -> Result<(), Error> {
        Ok(())
    }
}

struct Safe;

impl Safe {
    #[idempotent(namespace = "bank")]
    async fn open(_tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey) -> Result<(), Error> {
        Ok(())
    }
}

/// In another namespace, and therefore another operation.
#[idempotent(namespace = "theatre")]
async fn open(_tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey) -> Result<(), Error> {
    Ok(())
}

#[idempotent(namespace = "shop", operation = std::any::type_name::<T>())]
async fn import<T>(_tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey) -> Result<(), Error> {
    Ok(())
}

#[derive(Debug, thiserror::Error, Failure)]
enum RefundError {
    #[error("it was refunded")]
    #[failure(permanent)]
    Refunded,
    #[error(transparent)]
    Idempotency(#[from] Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

#[idempotent(
    namespace = "refunds",
    retention = "7d",
    marker = Refund,
    key_required = false,
    on_conflict = "wait",
    wait = "3s",
    failures = "record"
)]
async fn refund(
    _tx: &mut SqliteTransaction<'_>,
    key: Option<IdempotencyKey>,
    payment: i64,
) -> Result<i64, RefundError> {
    if payment == 0 {
        return Err(RefundError::Refunded);
    }
    Ok(payment)
}

#[idempotent(namespace = "refunds", lease = "5m", on_lapse = "retry", key = parsed(&order), marker = Ship)]
async fn ship(_attempt: &Attempt, order: String) -> Result<(), Error> {
    drop(order);
    Ok(())
}

fn parsed(order: &str) -> Result<IdempotencyKey, Error> {
    Ok(order.parse::<IdempotencyKey>()?.global())
}

/// The key is a parameter's, although the option names it.
#[idempotent(namespace = "refunds", key = first, skip(_second), marker = Choose)]
async fn choose(
    _tx: &mut SqliteTransaction<'_>,
    first: &IdempotencyKey,
    _second: &IdempotencyKey,
) -> Result<(), Error> {
    Ok(())
}

fn names(handlers: &[&Handler]) -> Vec<(&'static str, &'static str)> {
    let names = handlers
        .iter()
        .map(|handler| (handler.module(), handler.function()));
    names.collect()
}

#[test]
fn two_handlers_of_one_operation_are_found_with_their_places() {
    let shared = registry::check().expect_err("this program has two pairs of them");
    let [open, create] = shared.operations() else {
        panic!("{shared}");
    };
    assert_eq!((open.namespace(), open.operation()), ("bank", "open"));
    let here = ("registry", "open");
    assert_eq!(names(open.handlers()), [here, here]);
    assert_eq!((create.namespace(), create.operation()), ("shop", "create"));
    let handlers = create.handlers();
    assert_eq!(
        names(handlers),
        [
            ("registry::orders", "create"),
            ("registry::invoices", "create")
        ]
    );
    // The lines are those of the attributes.
    let source = include_str!("registry.rs");
    for handler in handlers.iter().chain(open.handlers()) {
        assert!(handler.file().ends_with("registry.rs"), "{handler}");
        let line = source.lines().nth(handler.line() as usize - 1);
        assert!(
            line.is_some_and(|line| line.trim().starts_with("#[idempotent(")),
            "{handler}: {line:?}"
        );
        assert!(shared.to_string().contains(&handler.to_string()));
    }
}

#[test]
fn every_handler_is_registered_by_what_is_known_of_it_without_a_call() {
    let find = |function: &str, namespace: &str| {
        let mut found = registry::handlers();
        found.find(|handler| handler.function() == function && handler.namespace() == namespace)
    };
    // A handler in a generic type is registered once.
    let close = find("close", "bank").expect("a method");
    assert_eq!(close.operation(), Some("account.close"));
    let import = find("import", "shop").expect("a generic function");
    assert_eq!(import.operation(), None);
    assert_eq!(
        find("open", "theatre").and_then(Handler::operation),
        Some("open")
    );
    assert_eq!(registry::handlers().count(), 10);
}

#[test]
fn a_handler_is_registered_with_what_it_asks_of_its_caller() {
    let refund = registry::handler_of::<Refund>().expect("it is linked");
    let policy = *refund.policy();
    assert_eq!(policy.retention, Duration::from_hours(7 * 24));
    assert_eq!(policy.on_conflict, OnConflict::Wait(Duration::from_secs(3)));
    assert_eq!(policy.failures, Failures::Record);
    assert_eq!((policy.key_required, policy.lease), (false, None));
    assert_eq!(refund.key_source(), KeySource::Parameter);

    let ship = registry::handler_of::<Ship>().expect("it is linked");
    let lease = ship.policy().lease.expect("it has one");
    assert_eq!(lease.duration(), Duration::from_mins(5));
    assert_eq!(lease.on_lapse(), OnLapse::Retry);
    assert_eq!(ship.key_source(), KeySource::Request);

    let choose = registry::handler_of::<Choose>().expect("it is linked");
    assert_eq!(choose.key_source(), KeySource::Parameter);
    assert_eq!(choose.policy(), &Policy::DEFAULT);
}

#[test]
fn an_operation_of_two_handlers_is_neither_of_them() {
    assert_eq!(registry::handler("shop", "create"), None);
    assert_eq!(registry::handler("shop", "nobody's"), None);
    let open = registry::handler("theatre", "open").expect("a handler");
    assert_eq!(open.function(), "open");
}
