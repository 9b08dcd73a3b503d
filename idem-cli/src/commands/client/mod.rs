//! Generates clients from the documents that services export.

mod document;
mod schema;
mod typescript;

use std::io::Read as _;
use std::path::Path;
use std::{fs, io};

use crate::fault::{Fault, Outcome};
use crate::view::line;

/// Prints a client in TypeScript for the service of an OpenRPC document.
pub(super) fn typescript(path: &Path) -> Result<Outcome, Fault> {
    let text = if path.as_os_str() == "-" {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(path)
    };
    let name = path.display();
    let text = text.map_err(|error| Fault::usage(format!("{name} cannot be read: {error}")))?;
    let document = document::read(&text)
        .map_err(|why| Fault::usage(format!("{name} is no OpenRPC document: {why}")))?;
    let module = typescript::module(&document)
        .map_err(|why| Fault::refused(format!("no client can be made of {name}: {why}")))?;
    line(module.trim_end());
    Ok(Outcome::Done)
}
