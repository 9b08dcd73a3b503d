//! `cargo xtask cluster`: a Galera cluster to try things on by hand.

use std::thread;

use idem_tests_cluster::mariadb::{Galera, Options};

use crate::{Outcome, machine};

/// Starts three nodes, prints the URL of each, and keeps them until this process ends.
pub(crate) fn run() -> Outcome {
    machine::provide_mariadb()?;
    machine::provide_galera()?;
    eprintln!("a quarter of a minute, until all three are in step");
    let cluster = Galera::start(3, &Options::new())?;
    for node in cluster.nodes() {
        println!("{}", node.url("mysql"));
    }
    eprintln!("they run until Ctrl-C");
    loop {
        // The signal ends the process, and the end of the process the servers.
        thread::park();
    }
}
