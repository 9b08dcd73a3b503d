//! The statements of the handlers, the same on every database: whole texts, of names and integers only,
//! which every dialect reads alike.

use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::calls::{Asked, Done, Fate, What};

/// The business tables, statement by statement. Nothing in them keeps two effects of one key apart.
pub fn tables() -> Vec<String> {
    let accounts = super::calls::ACCOUNTS.cast_signed();
    let opening = super::calls::OPENING;
    let mut statements: Vec<String> = [
        "CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL)",
        "CREATE TABLE counter (n bigint NOT NULL)",
        "INSERT INTO counter VALUES (0)",
        "CREATE TABLE effect (what varchar(16) NOT NULL, run bigint PRIMARY KEY, number bigint, \
         label varchar(64) NOT NULL, payer bigint NOT NULL, payee bigint NOT NULL, amount bigint NOT NULL)",
    ]
    .map(str::to_owned)
    .into();
    statements
        .extend((0..accounts).map(|id| format!("INSERT INTO account VALUES ({id}, {opening})")));
    statements
}

/// The writes of a body, statement by statement, for a run of this id.
///
/// The counter comes first and accounts follow in the order of their ids, so that two bodies do not
/// wait for each other in a circle.
pub fn writes(key: &str, asked: &Asked, run: i64) -> Vec<AssertSqlSafe<String>> {
    let Asked {
        what,
        from,
        to,
        amount,
    } = *asked;
    let number = match what {
        What::Transfer => "NULL",
        What::Order => "(SELECT n FROM counter)",
    };
    let mut statements = Vec::new();
    if what == What::Order {
        statements.push("UPDATE counter SET n = n + 1".to_owned());
    }
    let mut moves = [(from, -amount), (to, amount)];
    moves.sort_unstable();
    statements.extend(moves.map(|(account, amount)| {
        format!("UPDATE account SET balance = balance + {amount} WHERE id = {account}")
    }));
    statements.push(format!(
        "INSERT INTO effect VALUES ('{}', {run}, {number}, '{key}', {from}, {to}, {amount})",
        what.operation()
    ));
    statements.into_iter().map(AssertSqlSafe).collect()
}

/// What reads the number that a run was given.
pub fn number_of(run: i64) -> AssertSqlSafe<String> {
    AssertSqlSafe(format!("SELECT number FROM effect WHERE run = {run}"))
}

/// The record that a handler written by hand leaves, in a table without any constraint.
///
/// `column` is the name of the key's column, quoted where the dialect wants it.
pub fn loose_record(column: &str, key: &str, asked: &Asked, done: &Done) -> AssertSqlSafe<String> {
    let number = done.number.map_or("null".to_owned(), |n| n.to_string());
    AssertSqlSafe(format!(
        "INSERT INTO idem_record ({column}, operation, status, result) \
         VALUES ('{key}', '{}', 1, '{{\"run\":{},\"number\":{number}}}')",
        asked.what.operation(),
        done.run
    ))
}

/// An id that no other run has, below zero for a run that COMMIT is to refuse.
pub fn fresh_run(fate: Fate) -> i64 {
    // 63 bits of a random UUID.
    let (high, _) = Uuid::new_v4().as_u64_pair();
    let id = (high >> 1).cast_signed();
    match fate {
        Fate::RefusedAtCommit => -id,
        _ => id,
    }
}
