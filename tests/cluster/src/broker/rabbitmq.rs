//! A private rabbitmq-server.

use std::io;
use std::path::PathBuf;

use super::until_it_listens;
use crate::cluster::free_port;
use crate::keeper::Keeper;

/// A rabbitmq-server for this process only. It ends with this process, however that ends.
#[derive(Debug)]
pub struct RabbitMqServer {
    keeper: Keeper,
    port: u16,
    /// The ports of its port mapper and of its distribution. Nothing else connects there.
    inner: [u16; 2],
}

impl RabbitMqServer {
    /// Finds the directory of the server's scripts. Those in PATH are Debian's wrappers, which run for root and for its own
    /// account only.
    ///
    /// # Errors
    ///
    /// Returns an error if there is none on this machine. The text says what to install.
    pub fn find() -> io::Result<PathBuf> {
        let dir = PathBuf::from("/usr/lib/rabbitmq/bin");
        if dir.join("rabbitmq-server").is_file() {
            return Ok(dir);
        }
        Err(io::Error::other(
            "no RabbitMQ on this machine: install the package `rabbitmq-server`",
        ))
    }

    /// Starts a server with no queues. Returns once it accepts connections, which takes some seconds.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no program, or if it did not start. The text has its log.
    pub fn start() -> io::Result<Self> {
        let mut attempts = 0;
        loop {
            let keeper = Keeper::run(include_str!("rabbitmq.sh"), &[&Self::find()?])?;
            let mut server = Self {
                keeper,
                port: free_port()?,
                inner: [free_port()?, free_port()?],
            };
            match server.restart() {
                Ok(()) => return Ok(server),
                // Another process may have taken a port since it was found free.
                Err(error) if attempts == 2 => return Err(error),
                Err(_) => attempts += 1,
            }
        }
    }

    /// Ends the server without a warning. Its queues stay.
    ///
    /// # Errors
    ///
    /// Returns an error if its keeper is lost.
    pub fn kill(&mut self) -> io::Result<()> {
        self.keeper.order("kill")
    }

    /// Starts the server again, with its queues, on the same port.
    ///
    /// # Errors
    ///
    /// Returns an error if it does not start. The text has its log.
    pub fn restart(&mut self) -> io::Result<()> {
        let (port, [mapper, distribution]) = (self.port, self.inner);
        self.keeper
            .order(&format!("start {port} {mapper} {distribution}"))?;
        until_it_listens(&mut self.keeper, port)
    }

    /// Returns the port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }
}
