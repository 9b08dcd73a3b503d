use idem_ui_tests::*;

#[derive(Debug, thiserror::Error, Failure)]
enum PayError {
    #[error("declined")]
    #[failure(permanent)]
    Declined,
    #[error("{0}")]
    #[failure(replayed)]
    Recorded(String),
}

fn main() {}
