//! `cargo xtask cluster`: starts a Galera cluster for experiments.

use std::thread;

use idem_tests_cluster::mariadb::{Galera, Options};

use crate::{Outcome, machine};

/// Starts three nodes, prints the URL of each, and keeps them running until this process ends.
pub(crate) fn run() -> Outcome {
    machine::provide_mariadb()?;
    machine::provide_galera()?;
    eprintln!("waiting about 15 seconds until all three are in sync");
    let cluster = Galera::start(3, &Options::new())?;
    for node in cluster.nodes() {
        println!("{}", node.url("mysql"));
    }
    eprintln!("they run until Ctrl-C");
    loop {
        // The signal ends the process, and the servers end with the process.
        thread::park();
    }
}
