//! A private server, and the operations of the tests on it.

use std::fs::OpenOptions;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::net::TcpListener;
use std::path::Path;

use crate::keeper::Keeper;
use crate::options::line;
use crate::{Binaries, Options, template};

/// A PostgreSQL server for this process only. When this value is dropped, or when the process ends
/// for any reason, the server stops at once and its directory is removed.
///
/// Its only account is the superuser `postgres`, which needs no password on the socket and on the
/// port of 127.0.0.1. Port and directory stay the same across restarts.
#[derive(Debug)]
pub struct Cluster {
    keeper: Keeper,
    binaries: Binaries,
    options: Options,
    port: u16,
}

impl Cluster {
    /// Starts a server on a fresh data directory. Returns once it accepts connections.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no PostgreSQL server on this machine, or if it did not start.
    /// The text has its log.
    pub fn start(options: Options) -> io::Result<Self> {
        Self::start_on_copy(&template::to_copy()?, Binaries::find()?, options)
    }

    pub(crate) fn start_on_copy(
        data: &Path,
        binaries: Binaries,
        options: Options,
    ) -> io::Result<Self> {
        Self::serve(binaries, options, &format!("copy {}", data.display()))
    }

    /// Starts a hot standby that follows `primary` under the application name `standby`.
    ///
    /// # Errors
    ///
    /// Returns an error if the primary does not run, or if the standby did not start. The text has
    /// the logs.
    pub fn standby_of(primary: &Self) -> io::Result<Self> {
        let link = format!(
            "follow host={} port={} user=postgres application_name=standby",
            primary.socket_dir().display(),
            primary.port,
        );
        Self::serve(primary.binaries.clone(), primary.options.clone(), &link)
    }

    fn serve(binaries: Binaries, options: Options, origin: &str) -> io::Result<Self> {
        let mut keeper = binaries.keeper()?;
        keeper.order(origin)?;
        let mut attempts = 0;
        loop {
            let port = free_port()?;
            configure(&keeper, &options, port)?;
            match keeper.order("start") {
                Ok(()) => {
                    return Ok(Self {
                        keeper,
                        binaries,
                        options,
                        port,
                    });
                }
                // Another process may have taken the port since it was found free.
                Err(error) if attempts == 2 => return Err(error),
                Err(_) => attempts += 1,
            }
        }
    }

    /// Returns the URL of a database of this server, by TCP. The database `postgres` always exists.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Returns the directory of the Unix socket, to be used together with [`port`](Self::port).
    pub fn socket_dir(&self) -> &Path {
        self.keeper.dir()
    }

    /// Returns the port on 127.0.0.1, which also names the socket.
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
        self.keeper.order("stop fast")
    }

    /// Ends the server as a crash would: without a checkpoint, and with recovery at the next start.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not run.
    pub fn stop_immediate(&mut self) -> io::Result<()> {
        self.keeper.order("stop immediate")
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

    /// Stops the server cleanly and starts it again.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`stop`](Self::stop) and [`resume`](Self::resume).
    pub fn restart(&mut self) -> io::Result<()> {
        self.stop()?;
        self.resume()
    }

    /// Promotes a standby to a primary. Returns once it accepts writes.
    ///
    /// # Errors
    ///
    /// Returns an error if the server is not a standby, or does not run.
    pub fn promote(&mut self) -> io::Result<()> {
        self.keeper.order("promote")
    }
}

fn configure(keeper: &Keeper, options: &Options, port: u16) -> io::Result<()> {
    let port = port.to_string();
    let socket_dir = keeper.dir().display().to_string();
    let paths = [
        ("listen_addresses", "127.0.0.1"),
        ("port", &port),
        ("unix_socket_directories", &socket_dir),
    ];
    let lines: String = paths.into_iter().map(line).collect();
    OpenOptions::new()
        .append(true)
        .open(keeper.data().join("postgresql.conf"))?
        .write_all((lines + &options.lines()).as_bytes())
}

/// Finds a free port below those that Linux gives to outgoing connections (32768 and up). No client
/// can then be given the server's port while the server is stopped.
pub(crate) fn free_port() -> io::Result<u16> {
    const PORTS: std::ops::Range<u16> = 10_240..32_768;
    let chance = RandomState::new().hash_one("port") % PORTS.len() as u64;
    PORTS
        .cycle()
        .skip(usize::try_from(chance).unwrap_or_default())
        .take(PORTS.len())
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .ok_or_else(|| io::Error::other("no port of 127.0.0.1 is free"))
}
