//! Private database servers for one test process, started from the machine's own binaries.
//!
//! A [`Cluster`] has its own directory, socket and port and shares nothing with a server that
//! may already run on the machine. It ends with the process that started it, whatever ends that
//! process: a shell of its own keeps it (`keeper.sh`), reads the orders from a pipe, and takes
//! the server and the directory down once the other end of the pipe is closed. A [`Bouncer`] is a
//! pooler in front of it, kept the same way (`bouncer.sh`). A [`Wire`] is the way to a server, with a latency,
//! and counts round trips.
//!
//! Everything here blocks. A start takes some tenths of a second, of which the slow part,
//! `initdb`, is done once and copied from then on (see [`Template`]).

mod account;
mod binaries;
pub mod bouncer;
mod cluster;
mod keeper;
pub mod mariadb;
mod options;
pub mod schemathesis;
mod template;
mod wire;

pub use account::is_root;
pub use binaries::Binaries;
pub use bouncer::Bouncer;
pub use cluster::Cluster;
pub use options::Options;
pub use template::Template;
pub use wire::Wire;
