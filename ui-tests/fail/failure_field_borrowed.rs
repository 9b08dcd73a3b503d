use idem_ui_tests::*;

#[derive(Debug, thiserror::Error, Failure)]
enum PayError<'a> {
    #[error("declined: {0}")]
    #[failure(permanent)]
    Declined(&'a str),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

fn main() {}
