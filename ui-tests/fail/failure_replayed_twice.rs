use idem_ui_tests::*;

#[derive(Debug, thiserror::Error, Failure)]
enum PayError {
    #[error("declined")]
    #[failure(permanent)]
    Declined,
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Unknown(StoredFailure),
}

fn main() {}
