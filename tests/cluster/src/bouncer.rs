//! A private PgBouncer in front of a server.

use std::env;
use std::fs;
use std::io;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::cluster::free_port;
use crate::keeper::Keeper;

/// A PgBouncer for this process only, in transaction mode: a client holds a server connection from
/// its BEGIN to its COMMIT, and the next transaction gets another one. It ends with this process,
/// however that ends.
///
/// It asks for no password, and connects to the server as `postgres`.
#[derive(Debug)]
pub struct Bouncer {
    _keeper: Keeper,
    port: u16,
}

impl Bouncer {
    /// Starts a PgBouncer in front of the server on `port` of 127.0.0.1, with at most `pool_size`
    /// server connections for each database. Returns once it accepts connections.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no PgBouncer on this machine, or if it did not start. The text
    /// has its log.
    pub fn start(server: u16, pool_size: u32) -> io::Result<Self> {
        let mut attempts = 0;
        loop {
            let mut keeper = Keeper::run(include_str!("bouncer.sh"), &[&find()?])?;
            let port = free_port()?;
            let settings = settings(&find()?, keeper.dir(), server, port, pool_size);
            fs::write(keeper.dir().join("pgbouncer.ini"), settings)?;
            keeper.order("start")?;
            match until_it_listens(&mut keeper, port) {
                Ok(()) => {
                    return Ok(Self {
                        _keeper: keeper,
                        port,
                    });
                }
                // Another process may have taken the port since it was found free.
                Err(error) if attempts == 2 => return Err(error),
                Err(_) => attempts += 1,
            }
        }
    }

    /// Returns the port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// Finds the program, which Debian installs in a directory that only root's PATH contains.
///
/// # Errors
///
/// Returns an error if there is none on this machine. The text says what to install.
pub fn find() -> io::Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(["/usr/sbin".into()])
        .map(|dir| dir.join("pgbouncer"))
        .find(|program| program.is_file())
        .ok_or_else(|| {
            io::Error::other("no PgBouncer on this machine: install the package `pgbouncer`")
        })
}

/// Returns the settings. Server connections are used in turn, so that two transactions of one
/// client get different ones.
fn settings(program: &Path, dir: &Path, server: u16, port: u16, pool_size: u32) -> String {
    format!(
        "[databases]\n\
         * = host=127.0.0.1 port={server} user=postgres\n\
         [pgbouncer]\n\
         listen_addr = 127.0.0.1\n\
         listen_port = {port}\n\
         unix_socket_dir =\n\
         auth_type = any\n\
         pool_mode = transaction\n\
         default_pool_size = {pool_size}\n\
         max_client_conn = 500\n\
         server_round_robin = 1\n\
         ignore_startup_parameters = extra_float_digits,options\n\
         {}\
         logfile = {}\n",
        keeps_no_statements(program),
        dir.join("server.log").display(),
    )
}

/// From 1.21 on PgBouncer can keep named statements for its clients, and from 1.24 on it does unless it is
/// told not to. Earlier ones do not know the setting.
fn keeps_no_statements(program: &Path) -> &'static str {
    let reported = Command::new(program).arg("--version").output();
    let reported = reported.map(|reported| String::from_utf8_lossy(&reported.stdout).into_owned());
    let version = reported.unwrap_or_default();
    let minor = version
        .split_ascii_whitespace()
        .nth(1)
        .and_then(|version| version.strip_prefix("1."))
        .and_then(|minor| minor.split('.').next()?.parse::<u32>().ok());
    if minor.is_some_and(|minor| minor < 21) {
        ""
    } else {
        "max_prepared_statements = 0\n"
    }
}

fn until_it_listens(keeper: &mut Keeper, port: u16) -> io::Result<()> {
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        keeper.order("alive")?;
        thread::sleep(Duration::from_millis(5));
    }
    // The port accepts connections. Our PgBouncer ends if the port is taken, so the listener is
    // ours if it still runs.
    keeper.order("alive")
}
