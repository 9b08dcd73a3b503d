//! Private message brokers for one test process.

mod nats;
mod rabbitmq;

use std::env;
use std::io;
use std::net::TcpStream;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

pub use nats::NatsServer;
pub use rabbitmq::RabbitMqServer;

use crate::keeper::Keeper;

/// Bounds a hang and nothing else.
const PATIENCE: Duration = Duration::from_mins(2);

/// Waits until a server accepts connections. It fails if the server has ended: another one may have taken its port.
fn until_it_listens(keeper: &mut Keeper, port: u16) -> io::Result<()> {
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        keeper.order("alive")?;
        if begun.elapsed() > PATIENCE {
            return Err(io::Error::other(format!(
                "the server in {} does not listen on port {port} after two minutes",
                keeper.dir().display()
            )));
        }
        thread::sleep(Duration::from_millis(5));
    }
    keeper.order("alive")
}

/// Finds a program in PATH, or where Debian puts those that only root's PATH has.
fn program(name: &str, package: &str) -> io::Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(["/usr/sbin".into()])
        .map(|dir| dir.join(name))
        .find(|program| program.is_file())
        .ok_or_else(|| {
            io::Error::other(format!(
                "no {name} on this machine: install the package `{package}`"
            ))
        })
}
