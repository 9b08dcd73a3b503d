//! A data directory fresh from `mariadb-install-db`, from which every server is copied.

use std::env;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::server::keep;
use super::{Options, Server};
use crate::keeper::Keeper;

/// A data directory that is copied, removed when dropped and when the process ends.
#[derive(Debug)]
pub struct Template(Keeper);

impl Template {
    /// The variable that gives the path of one template to all test processes of a run.
    pub const VARIABLE: &str = "IDEM_TEST_MYSQL_TEMPLATE";

    /// Runs `mariadb-install-db`.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no MariaDB server on this machine, or if the installation
    /// failed.
    pub fn create() -> io::Result<Self> {
        let mut keeper = keep()?;
        keeper.order("initialise")?;
        Ok(Self(keeper))
    }

    /// Returns the data directory.
    pub fn path(&self) -> PathBuf {
        self.0.data()
    }

    /// Starts a server on a copy of this template, as [`Server::start`] does on a copy of the
    /// run's.
    ///
    /// # Errors
    ///
    /// Returns an error if the server did not start. The text has its log.
    pub fn start(&self, options: &Options) -> io::Result<Server> {
        Server::start_on_copy(&self.path(), options)
    }
}

/// The template of a process that was given none; it is removed when the process ends.
static OWN: Mutex<Option<Template>> = Mutex::new(None);

/// Returns the run's template, else this process's, which the first call creates.
pub(crate) fn to_copy() -> io::Result<PathBuf> {
    if let Some(shared) = env::var_os(Template::VARIABLE) {
        return Ok(shared.into());
    }
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    match &*own {
        Some(template) => Ok(template.path()),
        None => Ok(own.insert(Template::create()?).path()),
    }
}
