use idem_ui_tests::*;

#[derive(Debug, thiserror::Error, Failure)]
enum PayError {
    #[error("declined")]
    #[failure(permanent)]
    Declined,
    #[error(transparent)]
    Idempotency(#[from] Error),
}

fn main() {}
