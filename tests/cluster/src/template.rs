//! A data directory fresh from `initdb`, from which every cluster is copied.

use std::env;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::keeper::Keeper;
use crate::{Binaries, Cluster, Options};

/// A data directory that is copied, removed when dropped and when the process ends.
#[derive(Debug)]
pub struct Template {
    keeper: Keeper,
    binaries: Binaries,
}

impl Template {
    /// The variable that gives the path of one template to all test processes of a run.
    pub const VARIABLE: &str = "IDEM_TEST_PG_TEMPLATE";

    /// Runs `initdb`.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no PostgreSQL server on this machine, or if `initdb` failed.
    pub fn create() -> io::Result<Self> {
        Self::create_by(Binaries::find()?)
    }

    /// Runs the `initdb` of the given programs. Servers on copies of the template use the same
    /// programs.
    ///
    /// # Errors
    ///
    /// Returns an error if `initdb` failed.
    pub fn create_by(binaries: Binaries) -> io::Result<Self> {
        let mut keeper = binaries.keeper()?;
        keeper.order("initialise")?;
        Ok(Self { keeper, binaries })
    }

    /// Returns the data directory.
    pub fn path(&self) -> PathBuf {
        self.keeper.data()
    }

    /// Starts a server on a copy of this template, as [`Cluster::start`] does on a copy of the
    /// run's.
    ///
    /// # Errors
    ///
    /// Returns an error if the server did not start. The text has its log.
    pub fn start(&self, options: Options) -> io::Result<Cluster> {
        Cluster::start_on_copy(&self.path(), self.binaries.clone(), options)
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
