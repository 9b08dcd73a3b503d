//! A worker records a result in the handler's versions.

use std::time::Duration;

use idem_runtime::handler::DescribeOperation as _;
use idem_runtime::policy::OnLapse;
use idem_runtime::takeover::Takeover;
use idem_runtime::version::Versions;
use idem_runtime::{Attempt, Error, IdempotencyKey, TakeoverWorker, idempotent};

use crate::abandoned::abandon;
use crate::database::LeaseDatabase;
use crate::desk::{MailError, ada, fresh_key};
use crate::takeover::{SendRequest, to_ada};

#[idempotent(
    namespace = "mail",
    operation = "register",
    lease = "5m",
    on_lapse = "retry",
    result_version = 2,
    upcast = off,
    marker = Register
)]
async fn register(attempt: &Attempt, key: &IdempotencyKey, to: String) -> Result<i32, MailError> {
    assert!(attempt.key() == *key && !to.is_empty());
    Ok(attempt.number())
}

pub(crate) async fn a_worker_records_the_version_that_the_handler_reads<H: LeaseDatabase>() {
    let database = H::open().await;
    let number =
        |attempt: Attempt, _: SendRequest| async move { Ok::<_, MailError>(attempt.number()) };
    let soon = || Takeover::of(Register::OPERATION).pauses(Duration::ZERO, Duration::ZERO);
    for is_versioned in [true, false] {
        let key = fresh_key();
        abandon(&database, &key, "register", &to_ada(), OnLapse::Retry).await;
        database.lapse().await;
        let worker = TakeoverWorker::new(database.pool());
        let worker = if is_versioned {
            worker.handle_versioned(soon(), Versions::only(2), number)
        } else {
            worker.handle(soon(), number)
        };
        let worker = worker.expect("it is under retry");
        let swept = worker.run_once().await.expect("it answers");
        assert_eq!(swept.completed, 1);
        let answer = register(&database.pool(), &key, ada()).await;
        if is_versioned {
            let replayed = answer.expect("it was taken over");
            assert!(replayed.replayed() && *replayed == 2);
        } else {
            // Forgotten versions run nothing twice: the record is refused.
            let refusal = answer.expect_err("it is of version 1").refusal();
            assert!(matches!(refusal, Error::IncompatibleState { .. }));
        }
    }
}
