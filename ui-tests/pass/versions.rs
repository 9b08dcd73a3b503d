//! Results and failures of several versions.

#![allow(dead_code)]

use idem_runtime::{Attempt, Failure, IdempotencyKey, StoredFailure, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgTransaction;

#[derive(Serialize, Deserialize)]
struct First(u8);

#[derive(Serialize, Deserialize)]
struct Second {
    id: u8,
}

#[derive(Serialize, Deserialize)]
struct Third<T> {
    id: u8,
    more: Option<T>,
}

impl Second {
    fn from_first(old: First) -> Self {
        Self { id: old.0 }
    }

    fn to_first(&self) -> First {
        First(self.id)
    }
}

impl<T> Third<T> {
    fn from_second(old: Second) -> Result<Self, &'static str> {
        if old.id == 0 {
            return Err("there is no such id");
        }
        Ok(Self { id: old.id, more: None })
    }

    fn to_first(&self) -> Result<First, String> {
        match self.more {
            None => Ok(First(self.id)),
            Some(_) => Err("it has more".to_owned()),
        }
    }
}

#[derive(Debug, thiserror::Error, Failure)]
#[failure(version = 3, upcast(same, from_second), write_version = 1, downcast = to_first)]
enum MyError {
    #[error("declined")]
    #[failure(permanent)]
    Declined,
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

fn same(old: StoredFailure) -> StoredFailure {
    old
}

fn from_second(old: StoredFailure) -> Result<StoredFailure, std::num::ParseIntError> {
    let _: u8 = old.class.parse()?;
    Ok(old)
}

fn to_first(failure: &StoredFailure) -> StoredFailure {
    failure.clone()
}

#[idempotent(namespace = "a", result_version = 2, upcast = Second::from_first)]
async fn one_step(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<Second, MyError> {
    let _ = tx;
    Ok(Second { id: 1 })
}

#[idempotent(namespace = "a", result_version = 2, upcast = Second::from_first, write_version = 1, downcast = Second::to_first)]
async fn expanding(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<Second, MyError> {
    let _ = tx;
    Ok(Second { id: 1 })
}

#[idempotent(namespace = "a", result_version = 2, upcast = off)]
async fn contracted(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<Second, MyError> {
    let _ = tx;
    Ok(Second { id: 1 })
}

#[idempotent(
    namespace = "a",
    operation = "generic",
    skip(T),
    result_version = 3,
    upcast(Second::from_first, Third::<T>::from_second),
    write_version = 1,
    downcast = Third::<T>::to_first,
    failures = "record"
)]
async fn generic<T: Serialize + for<'d> Deserialize<'d> + Send + Sync>(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
) -> Result<Third<T>, MyError> {
    let _ = tx;
    Err(MyError::Declined)
}

#[idempotent(namespace = "a", lease = "5m", result_version = 3, upcast = Third::from_second, failures = "record")]
async fn leased(attempt: &Attempt, key: &IdempotencyKey) -> Result<Third<u8>, MyError> {
    let _ = (attempt, key);
    Ok(Third { id: 1, more: None })
}

fn main() {}
