use idem_ui_tests::*;

#[derive(Debug, thiserror::Error, Failure)]
enum PayError {
    #[error("declined")]
    #[failure(permanent, version = 2)]
    Declined,
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

fn main() {}
