#![deny(warnings)]
#![allow(dead_code)]

mod core {}
mod std {}
struct Result;
struct Option;
struct Box;
struct String;
struct Ok;
struct Err;
struct Some;
struct None;
struct Begin;
struct Replayable;
const OPERATION: i64 = 1;

#[idem_runtime::idempotent(namespace = "payments")]
async fn create(
    tx: &mut sqlx::PgTransaction<'_>,
    key: &idem_runtime::IdempotencyKey,
    request: u8,
    claim: u8,
    db: u8,
    unit: u8,
    contract: u8,
    result: u8,
) -> ::std::result::Result<i64, idem_runtime::Error> {
    let _: &mut sqlx::PgConnection = &mut **tx;
    let _ = (request, claim, db, unit, contract, result);
    ::std::result::Result::Ok(OPERATION)
}

fn main() {}
