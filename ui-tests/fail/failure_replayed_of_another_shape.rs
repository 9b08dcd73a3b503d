use idem_ui_tests::*;

#[derive(Debug, thiserror::Error, Failure)]
enum PayError {
    #[error("declined")]
    #[failure(permanent)]
    Declined,
    #[error("{message}")]
    #[failure(replayed)]
    Recorded { class: String, message: String },
}

fn main() {}
