//! Starts a private PostgreSQL server, prints its directory and its URL, one line each, and keeps
//! it until the standard input ends.

use std::io;

use idem_tests_cluster::{Cluster, Options};

fn main() -> io::Result<()> {
    let cluster = Cluster::start(Options::new())?;
    println!("{}", cluster.socket_dir().display());
    println!("{}", cluster.url("postgres"));
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
