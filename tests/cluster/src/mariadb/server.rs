//! A private server, and the operations of the tests on it.

use std::fs;
use std::io;
use std::path::Path;

use super::{Binaries, Options, template};
use crate::cluster::free_port;
use crate::keeper::Keeper;

/// A MariaDB server for this process only. When this value is dropped, or when the process ends for
/// any reason, the server ends at once and its directory is removed.
///
/// Its account is `root`, without a password, on the port of 127.0.0.1. Port and directory stay the
/// same across restarts.
#[derive(Debug)]
pub struct Server {
    keeper: Keeper,
    port: u16,
}

impl Server {
    /// Starts a server on a fresh data directory. Returns once it accepts connections.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no MariaDB server on this machine, or if it did not start. The
    /// text has its log.
    pub fn start(options: &Options) -> io::Result<Self> {
        Self::start_on_copy(&template::to_copy()?, options)
    }

    pub(crate) fn start_on_copy(data: &Path, options: &Options) -> io::Result<Self> {
        Self::start_by("start", data, options)
    }

    /// Starts a server by a command other than `start`.
    pub(crate) fn start_by(order: &str, data: &Path, options: &Options) -> io::Result<Self> {
        let mut keeper = keep()?;
        keeper.order(&format!("copy {}", data.display()))?;
        let mut attempts = 0;
        loop {
            let port = free_port()?;
            configure(&keeper, options, port)?;
            match keeper.order(order) {
                Ok(()) => return Ok(Self { keeper, port }),
                // Another process may have taken the port since it was found free.
                Err(error) if attempts == 2 => return Err(error),
                Err(_) => attempts += 1,
            }
        }
    }

    /// Returns the URL of a database of this server, by TCP. The database `mysql` always exists.
    pub fn url(&self, database: &str) -> String {
        format!("mysql://root@127.0.0.1:{}/{database}", self.port)
    }

    /// Returns the server's own directory.
    pub fn dir(&self) -> &Path {
        self.keeper.dir()
    }

    /// Returns the port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Stops the server cleanly. Open connections are ended, and their transactions are rolled
    /// back.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not run.
    pub fn stop(&mut self) -> io::Result<()> {
        self.keeper.order("stop TERM")
    }

    /// Ends the server as a crash would, with recovery at the next start.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not run.
    pub fn kill(&mut self) -> io::Result<()> {
        self.keeper.order("stop KILL")
    }

    /// Suspends the server's process: its connections stay open, but it answers none.
    /// [`kill`](Self::kill) still ends it.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not run.
    pub fn pause(&mut self) -> io::Result<()> {
        self.keeper.order("signal STOP")
    }

    /// Lets a paused server continue.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not run.
    pub fn proceed(&mut self) -> io::Result<()> {
        self.keeper.order("signal CONT")
    }

    /// Starts the server again after a stop, on the same port and with the same data. Returns once
    /// it accepts connections.
    ///
    /// # Errors
    ///
    /// Returns an error if the server still runs, or if it did not start. The text has its log.
    pub fn resume(&mut self) -> io::Result<()> {
        self.keeper.order("start")
    }
}

/// Starts a keeper with MariaDB's programs.
pub(crate) fn keep() -> io::Result<Keeper> {
    let programs = Binaries::find()?;
    let paths = [programs.server(), programs.installer()];
    Keeper::run(include_str!("keeper.sh"), &paths)
}

fn configure(keeper: &Keeper, options: &Options, port: u16) -> io::Result<()> {
    let dir = keeper.dir().display();
    let paths = [
        ("datadir", format!("{dir}/data")),
        ("socket", format!("{dir}/socket")),
        ("pid-file", format!("{dir}/pid")),
        ("tmpdir", format!("{dir}")),
        ("port", port.to_string()),
    ];
    let paths = paths.each_ref().map(|(name, value)| (*name, &**value));
    fs::write(keeper.dir().join("my.cnf"), options.file(&paths))
}
