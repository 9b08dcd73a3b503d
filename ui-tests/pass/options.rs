#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

use idem_runtime::{Failure, StoredFailure};

enum Refused {
    Idempotency(Error),
    Closed(String),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Idempotency(error)
    }
}

impl Failure for Refused {
    fn to_failure(&self) -> Option<StoredFailure> {
        match self {
            Self::Idempotency(_) => None,
            Self::Closed(message) => Some(StoredFailure::new("closed", message.as_str())),
        }
    }

    fn from_failure(failure: StoredFailure) -> Self {
        Self::Closed(failure.message)
    }
}

#[idempotent(
    namespace = "payments",
    retention = "1d12h",
    operation = "payment.create",
    fingerprint = (cmd.amount, cmd.payee, (cmd.request_id, 1)),
    on_conflict = "wait",
    wait = "1m",
    failures = "record",
    record_request,
    result_limit = "64KiB",
    expiry = "strict",
    table = "app.idempotency",
    crate = idem_runtime,
)]
async fn create(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> Result<i64, Refused> {
    Err(Refused::Closed(cmd.payee.clone()))
}

fn callers(pool: &PgPool, key: &IdempotencyKey, cmd: &CreatePayment) {
    drop(assert_send(create(pool, key, cmd)));
}

fn main() {}
