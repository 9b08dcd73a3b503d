//! The layer that replays whole responses, over real sockets.

mod bodies;
mod keeps;
mod relay;
mod replays;
mod requests;
mod runs;
mod uploads;
