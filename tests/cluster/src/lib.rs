//! Private database servers for one test process, started from the machine's own programs.
//!
//! A [`Cluster`] has its own directory, socket and port, and shares nothing with a server that may
//! already run on the machine. It ends with the process that started it, however that process ends:
//! a separate shell (`keeper.sh`) reads commands from a pipe, and removes the server and the
//! directory once the other end of the pipe is closed. A [`Bouncer`] is a pooler in front of a
//! server, kept by a shell in the same way (`bouncer.sh`), and so is a message broker (module [`broker`]). A [`Wire`] is a connection to a server
//! with a latency, and counts round trips.
//!
//! Everything here blocks. A start takes some tenths of a second. Its slow part, `initdb`, runs
//! once, and its result is copied from then on (see [`Template`]).

mod account;
mod binaries;
pub mod bouncer;
pub mod broker;
pub mod browser;
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
