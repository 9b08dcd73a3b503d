use idem_ui_tests::*;

#[derive(Debug, thiserror::Error, Failure)]
#[failure(version = 2)]
enum PayError {
    #[error("declined")]
    #[failure(permanent)]
    Declined,
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

fn main() {}
