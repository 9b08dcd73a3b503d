//! The layer that replays whole responses, over real sockets.

mod bodies;
mod keeps;
mod limit;
mod relay;
mod released;
mod replays;
mod runs;
