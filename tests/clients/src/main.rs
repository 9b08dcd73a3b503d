//! The service and the proxy for experiments by hand: prints the proxy's address and runs until Ctrl-C.

use std::future::pending;

use idem_tests_clients::{Town, install};

#[tokio::main]
async fn main() {
    let town = Town::open_with(install::modules()).await;
    println!("{}", town.url);
    pending::<()>().await;
}
