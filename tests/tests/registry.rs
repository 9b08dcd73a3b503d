//! The registry of handlers in a program with faults: this test binary.

#![allow(
    dead_code,
    reason = "the handlers are registered, and nobody calls them"
)]

use idem_runtime::registry::{self, Handler};
use idem_runtime::{Error, IdempotencyKey, idempotent};
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
    assert_eq!(registry::handlers().count(), 7);
}
