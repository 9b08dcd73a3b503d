use idem_ui_tests::*;

#[derive(Debug, thiserror::Error, Failure)]
enum PayError {
    #[error("declined: {code}")]
    #[failure(permanent)]
    Declined {
        #[failure(class = "code")]
        code: u32,
    },
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

fn main() {}
