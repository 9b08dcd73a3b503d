//! A client of the torture test, in a process of its own.
//!
//! `torturer URL LOG SEED CALLS KEYS PLANTED`

use std::env;
use std::path::Path;

use idem_tests::torture::client::{self, Planted};

type Fault = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Fault> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [url, log, seed, calls, keys, planted] = arguments[..] else {
        return Err("torturer URL LOG SEED CALLS KEYS PLANTED".into());
    };
    let planted = Planted::named(planted).ok_or("no such fault to plant")?;
    idem_runtime::fast_check::set(planted != Planted::NoConstraint);
    let (seed, calls, keys) = (seed.parse()?, calls.parse()?, keys.parse()?);
    client::run(url, Path::new(log), seed, calls, keys, planted).await
}
