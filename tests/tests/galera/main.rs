//! The laws where any of three servers takes writes: a Galera cluster of MariaDB. What the others
//! have committed may not be visible yet at a node; certification at COMMIT is what keeps a second
//! effect out.

mod faults;
mod rivals;
