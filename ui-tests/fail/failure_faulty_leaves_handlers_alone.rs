use idem_ui_tests::*;

#[derive(Debug, thiserror::Error, Failure)]
enum PayError {
    #[error("declined")]
    #[failure(permanent, clas = "d")]
    Declined,
    #[error(transparent)]
    Idempotency(#[from] Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

#[idempotent(namespace = "payments", failures = "record")]
async fn create(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<Payment, PayError> {
    Err(PayError::Declined)
}

fn main() {}
