//! Finds the machine's MariaDB server programs.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

/// The server, and the program that creates its data directory.
#[derive(Clone, Debug)]
pub struct Binaries {
    server: PathBuf,
    installer: PathBuf,
}

impl Binaries {
    /// The variable that names the directory of `mariadbd`.
    pub const VARIABLE: &str = "MARIADB_BIN";

    /// Finds the programs: in the directory that the variable names, else on the PATH and in
    /// Debian's directories.
    ///
    /// # Errors
    ///
    /// Returns an error if they are not there. The text says what to install.
    pub fn find() -> io::Result<Self> {
        let named = env::var_os(Self::VARIABLE).filter(|dir| !dir.is_empty());
        let path = env::var_os("PATH").unwrap_or_default();
        let usual = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
        let dirs: Vec<PathBuf> = named.iter().map(PathBuf::from).chain(usual).collect();
        let find = |program: &str, dirs: &[PathBuf]| {
            let found = dirs.iter().map(|dir| dir.join(program));
            found.into_iter().find(|program| program.is_file())
        };
        let servers = if named.is_some() { &dirs[..1] } else { &dirs };
        match (find("mariadbd", servers), find("mariadb-install-db", &dirs)) {
            (Some(server), Some(installer)) => Ok(Self { server, installer }),
            _ => Err(io::Error::other(
                "no MariaDB server on this machine: install the package `mariadb-server`, or name \
                 the directory of `mariadbd` in MARIADB_BIN",
            )),
        }
    }

    pub(crate) fn server(&self) -> &Path {
        &self.server
    }

    pub(crate) fn installer(&self) -> &Path {
        &self.installer
    }
}
