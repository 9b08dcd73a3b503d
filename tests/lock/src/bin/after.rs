//! The same service after a careless change.

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
    amount: u64,
    memo: Option<String>,
    method: Method,
    lines: Vec<Line>,
    tags: BTreeMap<String, String>,
    channel: Option<String>,
    branch: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Method {
    Cash,
    Card { number: u64 },
    Transfer(Iban),
}

#[derive(Serialize, JsonSchema)]
struct Iban(String);

#[derive(Serialize, JsonSchema)]
struct Line {
    sku: Cow<'static, str>,
    parts: Vec<Line>,
}

/// It has one value more.
#[derive(Serialize, JsonSchema)]
enum Currency {
    Eur,
    Gbp,
    Usd,
}

#[derive(Serialize)]
struct Obscure<'a>(&'a str);

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Id(i64);

#[derive(Serialize, Deserialize)]
struct Number(i64);

fn number(old: Id) -> Number {
    Number(old.0)
}

#[idempotent(namespace = "payments", retention = "7d", result_version = 2, upcast = number)]
async fn create(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &CreatePayment,
) -> Answer<Number> {
    let _ = (tx, cmd);
    Ok(Number(1))
}

#[idempotent(namespace = "payments")]
async fn refund(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    of: Obscure<'_>,
    remark: &str,
) -> Answer<()> {
    let _ = (tx, of, remark);
    Ok(())
}

#[idempotent(namespace = "payments")]
async fn convert(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    to: Currency,
    amount: u8,
) -> Answer<()> {
    let _ = (tx, to, amount);
    Ok(())
}

#[idempotent(namespace = "payments")]
async fn close_account(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    account: i64,
) -> Answer<()> {
    let _ = (tx, account);
    Ok(())
}

#[idempotent(namespace = "payments", fingerprint = (cmd.account, cmd.amount))]
async fn authorise(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &CreatePayment,
) -> Answer<()> {
    let _ = (tx, cmd);
    Ok(())
}

#[idempotent(namespace = "post", lease = "5m")]
async fn send(attempt: &Attempt, key: &IdempotencyKey, to: String, body: String) -> Answer<u8> {
    let _ = (attempt, to, body);
    Ok(1)
}

fn main() -> ExitCode {
    idem_tests_lock::compare()
}
