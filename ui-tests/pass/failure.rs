#![deny(warnings)]

use idem_ui_tests::*;

#[derive(Debug, thiserror::Error, Failure)]
pub enum PayError {
    #[error("declined: {code}")]
    #[failure(permanent, class = "card.declined")]
    Declined { code: u32, r#type: String },
    #[deprecated = "limits are gone"]
    #[error("over the limit of {0}")]
    #[failure(permanent)]
    Over(u8),
    #[cfg(any())]
    #[failure(permanent)]
    Never(Missing),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Idempotency(#[from] Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

#[idempotent(namespace = "payments", failures = "record")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> Result<i64, PayError> {
    if cmd.amount == 0 {
        return Err(PayError::Declined { code: 1, r#type: "zero".to_owned() });
    }
    sqlx::query("DELETE FROM payment").execute(&mut **tx).await?;
    Ok(cmd.amount)
}

mod generic {
    use idem_ui_tests::{Failure as Derived, StoredFailure};

    // Names that generated code must not confuse with its own.
    #[allow(dead_code)]
    struct Option;
    #[allow(dead_code)]
    struct Some;

    #[derive(Debug, thiserror::Error, Derived)]
    #[failure(crate = ::idem_runtime)]
    pub enum Refused<T, const N: usize>
    where
        T: std::fmt::Debug + std::fmt::Display,
    {
        #[error("{0}")]
        #[failure(permanent)]
        This(T, Vec<T>),
        #[error("again")]
        #[failure(replayed)]
        Again { held: Box<StoredFailure> },
    }
}

fn callers(pool: &PgPool, key: &IdempotencyKey, cmd: &CreatePayment) {
    drop(assert_send(create(pool, key, cmd)));
}

fn main() {
    let _ = callers;

    let declined = PayError::Declined { code: 7, r#type: "a".to_owned() };
    let stored = declined.to_failure().expect("permanent");
    assert_eq!(stored.class, "card.declined");
    assert!(matches!(PayError::from_failure(stored), PayError::Declined { code: 7, .. }));

    let this = generic::Refused::<u8, 1>::This(1, vec![2]);
    let stored = this.to_failure().expect("permanent");
    assert!(matches!(generic::Refused::<u8, 1>::from_failure(stored), generic::Refused::This(1, all) if all == [2]));

}
