use idem_ui_tests::*;

#[derive(Debug, thiserror::Error, Failure)]
#[error("declined: {code}")]
struct Declined {
    code: u32,
}

fn main() {}
