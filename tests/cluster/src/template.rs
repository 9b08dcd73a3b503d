//! A data directory fresh from `initdb`, from which every cluster is copied.

use std::env;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::keeper::Keeper;

/// The variable by which a run of many test processes shares one [`template`].
pub const TEMPLATE_VARIABLE: &str = "IDEM_TEST_PG_TEMPLATE";

static OWN: Mutex<Option<Keeper>> = Mutex::new(None);

/// The data directory to copy: the one that [`TEMPLATE_VARIABLE`] names, else one of this
/// process, made at the first call and removed when the process ends.
///
/// # Errors
///
/// There is no PostgreSQL server on this machine, or `initdb` failed.
pub fn template() -> io::Result<PathBuf> {
    if let Some(shared) = env::var_os(TEMPLATE_VARIABLE) {
        return Ok(shared.into());
    }
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(keeper) = &*own {
        return Ok(keeper.data());
    }
    let mut keeper = Keeper::start()?;
    keeper.order("initialise")?;
    Ok(own.insert(keeper).data())
}
