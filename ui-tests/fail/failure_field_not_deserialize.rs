use idem_ui_tests::*;

#[derive(Debug, Serialize)]
struct Reason;

#[derive(Debug, thiserror::Error, Failure)]
enum PayError {
    #[error("declined")]
    #[failure(permanent)]
    Declined(Reason),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

fn main() {}
