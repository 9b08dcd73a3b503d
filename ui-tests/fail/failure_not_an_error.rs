use idem_ui_tests::*;

#[derive(Debug, Failure)]
enum PayError {
    #[failure(permanent)]
    Declined,
    #[failure(replayed)]
    Recorded(StoredFailure),
}

fn main() {}
