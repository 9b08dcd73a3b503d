//! A private nats-server with JetStream.

use std::io;
use std::path::PathBuf;

use super::{program, until_it_listens};
use crate::cluster::free_port;
use crate::keeper::Keeper;

/// A nats-server with JetStream for this process only. It ends with this process, however that ends.
#[derive(Debug)]
pub struct NatsServer {
    keeper: Keeper,
    port: u16,
}

impl NatsServer {
    /// Finds the program.
    ///
    /// # Errors
    ///
    /// Returns an error if there is none on this machine. The text says what to install.
    pub fn find() -> io::Result<PathBuf> {
        program("nats-server", "nats-server")
    }

    /// Starts a server with no streams. Returns once it accepts connections.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no program, or if it did not start. The text has its log.
    pub fn start() -> io::Result<Self> {
        let mut attempts = 0;
        loop {
            let keeper = Keeper::run(include_str!("nats.sh"), &[&Self::find()?])?;
            let port = free_port()?;
            let mut server = Self { keeper, port };
            match server.restart() {
                Ok(()) => return Ok(server),
                // Another process may have taken the port since it was found free.
                Err(error) if attempts == 2 => return Err(error),
                Err(_) => attempts += 1,
            }
        }
    }

    /// Ends the server without a warning. Its streams stay.
    ///
    /// # Errors
    ///
    /// Returns an error if its keeper is lost.
    pub fn kill(&mut self) -> io::Result<()> {
        self.keeper.order("kill")
    }

    /// Starts the server again, with its streams, on the same port.
    ///
    /// # Errors
    ///
    /// Returns an error if it does not start. The text has its log.
    pub fn restart(&mut self) -> io::Result<()> {
        self.keeper.order(&format!("start {}", self.port))?;
        until_it_listens(&mut self.keeper, self.port)
    }

    /// Returns the port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }
}
