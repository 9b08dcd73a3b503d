use idem_ui_tests::*;

#[derive(Debug, Deserialize)]
struct Reason;

#[derive(Debug, thiserror::Error, Failure)]
enum PayError {
    #[error("declined")]
    #[failure(permanent)]
    Declined { reason: Reason },
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

fn main() {}
