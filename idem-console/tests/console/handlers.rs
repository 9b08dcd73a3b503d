//! The handlers of this program on the console's pages.

#![allow(
    dead_code,
    reason = "the handlers are registered, and nobody calls them"
)]

use idem_runtime::{Attempt, Error, IdempotencyKey, idempotent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::SqliteTransaction;

use crate::client::{Client, console, record};
use crate::story::{completed, key};
use crate::subject::Subject;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Payment {
    amount_in_cents: u64,
}

#[idempotent(
    namespace = "payments",
    operation = "charge",
    retention = "7d",
    lease = "90s",
    on_lapse = "retry"
)]
async fn charge_card(
    _attempt: &Attempt,
    key: &IdempotencyKey,
    payment: Payment,
) -> Result<Payment, Error> {
    Ok(payment)
}

#[idempotent(
    namespace = "orders",
    key_required = false,
    on_conflict = "wait",
    wait = "5s",
    expiry = "strict"
)]
async fn place(_tx: &mut SqliteTransaction<'_>, key: Option<IdempotencyKey>) -> Result<(), Error> {
    Ok(())
}

#[idempotent(namespace = "orders", operation = std::any::type_name::<Payment>())]
async fn import(_tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey) -> Result<(), Error> {
    Ok(())
}

mod shared {
    use super::*;

    #[idempotent(namespace = "shop", operation = "open")]
    async fn open_shop(_tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey) -> Result<(), Error> {
        Ok(())
    }

    #[idempotent(namespace = "shop", operation = "open")]
    async fn open_account(
        _tx: &mut SqliteTransaction<'_>,
        key: &IdempotencyKey,
    ) -> Result<(), Error> {
        Ok(())
    }
}

pub(crate) async fn handlers_are_shown_where_the_program_asks_for_them_only<S: Subject>() {
    let subject = S::fresh().await;
    completed(&subject, &key("customer-42", "order-1")).await;
    let address = record("customer-42", "order-1");
    let charge = "/handler?namespace=payments&operation=charge";
    let link = charge.replace('&', "&amp;");

    let client = Client::of(&subject);
    for path in ["/handlers", charge] {
        client.get(path).await.refused(404, "There is no such page");
    }
    for path in ["/", &address] {
        assert!(!client.get(path).await.page().contains("/handler"));
    }

    let client = Client::new(console(&subject).handlers().router(), "ada");
    let page = client.get("/handlers").await.page();
    for text in [
        "href=\"/handlers\" aria-current=\"page\"",
        &link,
        "under a lease of 1m 30s",
        "7days",
        "charge_card",
        "waits for 5s at most",
        "optional",
        "named by each call",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let record = client.get(&address).await.page();
    assert!(record.contains(&link), "{record}");
}

pub(crate) async fn a_handler_is_shown_with_its_policy_and_its_schemas<S: Subject>() {
    let subject = S::fresh().await;
    let client = Client::new(console(&subject).handlers().router(), "ada");
    let page = client
        .get("/handler?namespace=payments&operation=charge")
        .await
        .page();
    for text in [
        "the body may run again",
        "compared on every retry; stored if it has at most 65,536 bytes",
        "is refused at once",
        "is replayed until a purge deletes it",
        "amount_in_cents",
        "Parameters",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let page = client
        .get("/handler?namespace=orders&operation=place")
        .await
        .page();
    for text in [
        "in the transaction",
        "counts as none: the body runs again",
        "The handler takes nothing beside its key",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    for path in [
        "/handler",
        "/handler?namespace=payments",
        "/handler?namespace=payments&operation=place",
    ] {
        let unknown = client.get(path).await;
        unknown.refused(404, "No handler of this program has this operation");
    }
}

pub(crate) async fn an_operation_that_handlers_share_is_an_alert<S: Subject>() {
    let subject = S::fresh().await;
    let client = Client::new(console(&subject).handlers().router(), "ada");
    for path in ["/handlers", "/handler?namespace=shop&operation=open"] {
        let page = client.get(path).await.page();
        assert!(page.contains("role=\"alert\""), "{page}");
        for text in ["open_shop", "open_account"] {
            assert!(page.contains(text), "{text}: {page}");
        }
    }
}
