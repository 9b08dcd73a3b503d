//! The laws on a Galera cluster of three MariaDB nodes that all accept writes. The commits of other
//! nodes may not be visible yet at a node; certification at COMMIT prevents a second effect.

mod competitors;
mod faults;
