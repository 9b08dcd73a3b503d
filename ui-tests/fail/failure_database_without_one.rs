use idem_ui_tests::*;

#[derive(Debug, thiserror::Error, Failure)]
enum PayError {
    #[error("the name is taken")]
    #[failure(permanent, database)]
    Taken(String),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

fn main() {}
