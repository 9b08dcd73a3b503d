//! The layer that replays whole responses, over real sockets.

mod bodies;
mod compared;
mod headers;
mod keeps;
mod lengths;
mod limit;
mod relay;
mod released;
mod replays;
mod requests;
mod routes;
mod runs;
mod services;
mod trailers;
mod unrecorded;
mod uploads;
