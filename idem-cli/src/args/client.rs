//! The clients that can be generated.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Client {
    /// Print a client in TypeScript for the JSON-RPC service of an OpenRPC document.
    Typescript {
        /// The document, as the service exports it; `-` is the standard input.
        document: PathBuf,
    },
}
