use idem_ui_tests::*;

#[derive(Debug, thiserror::Error, Failure)]
#[failure(permanent)]
enum PayError {
    #[error("declined")]
    #[failure(permanent)]
    Declined,
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

fn main() {}
