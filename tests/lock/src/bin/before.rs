//! The service before the change.

#![allow(dead_code, reason = "nobody calls the handlers")]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::process::ExitCode;

use idem_runtime::{Attempt, Error, IdempotencyKey, idempotent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteTransaction;

type Answer<T> = Result<T, Error>;

#[derive(Serialize, JsonSchema)]
struct CreatePayment {
    account: i64,
    cents: u64,
    memo: Option<String>,
    method: Method,
    lines: Vec<Line>,
    tags: BTreeMap<String, String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Method {
    Cash,
    Card { number: String },
    Transfer(Iban),
}

#[derive(Serialize, JsonSchema)]
struct Iban(String);

#[derive(Serialize, JsonSchema)]
struct Line {
    sku: Cow<'static, str>,
    parts: Vec<Line>,
}

#[derive(Serialize, JsonSchema)]
enum Currency {
    Eur,
    Usd,
}

/// It has no schema.
#[derive(Serialize)]
struct Opaque<'a>(&'a str);

#[derive(Serialize, Deserialize)]
struct Id(i64);

#[idempotent(namespace = "payments", retention = "1d12h")]
async fn create(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &CreatePayment,
) -> Answer<Id> {
    let _ = (tx, cmd);
    Ok(Id(1))
}

#[idempotent(namespace = "payments")]
async fn refund<'a>(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    of: Opaque<'a>,
    note: &'a str,
) -> Answer<()> {
    let _ = (tx, of, note);
    Ok(())
}

#[idempotent(namespace = "payments")]
async fn convert(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    to: Currency,
    amount: Option<u8>,
) -> Answer<()> {
    let _ = (tx, to, amount);
    Ok(())
}

#[idempotent(namespace = "payments")]
async fn close(tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey, account: i64) -> Answer<()> {
    let _ = (tx, account);
    Ok(())
}

#[idempotent(namespace = "payments", fingerprint = (cmd.account, cmd.cents))]
async fn authorise(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &CreatePayment,
) -> Answer<()> {
    let _ = (tx, cmd);
    Ok(())
}

#[idempotent(namespace = "mail", lease = "5m")]
async fn send(attempt: &Attempt, key: &IdempotencyKey, to: String, body: String) -> Answer<u8> {
    let _ = (attempt, to, body);
    Ok(1)
}

#[idempotent(namespace = "mail", operation = std::any::type_name::<T>(), fingerprint = off)]
async fn import<T>(tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey) -> Answer<()> {
    let _ = tx;
    Ok(())
}

struct Desk<T>(T);

impl<T: Sync> Desk<T> {
    #[idempotent(namespace = "desk", operation = "desk.open", skip(self))]
    async fn open(
        &self,
        tx: &mut SqliteTransaction<'_>,
        key: &IdempotencyKey,
        who: i64,
    ) -> Answer<()> {
        let _ = (tx, who);
        Ok(())
    }

    #[idempotent(namespace = "desk", operation = "desk.borrow", skip(Q))]
    async fn borrow<Q: Serialize + Sync>(
        tx: &mut SqliteTransaction<'_>,
        key: &IdempotencyKey,
        of: Option<u8>,
        what: &Vec<Q>,
    ) -> Answer<()> {
        let _ = (tx, of, what);
        Ok(())
    }
}

fn main() -> ExitCode {
    idem_tests_lock::compare()
}
