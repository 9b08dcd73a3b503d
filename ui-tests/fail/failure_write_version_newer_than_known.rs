use idem_ui_tests::*;

fn upcast_failure(old: StoredFailure) -> StoredFailure {
    old
}

#[derive(Debug, thiserror::Error, Failure)]
#[failure(version = 2, upcast = upcast_failure, write_version = 3)]
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
