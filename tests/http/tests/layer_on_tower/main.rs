//! The laws of the layer that need no router, on hyper without axum: the files are those of `tests/layer`.

#[path = "../layer/bodies.rs"]
mod bodies;
#[path = "../layer/compared.rs"]
mod compared;
#[path = "../layer/keeps.rs"]
mod keeps;
#[path = "../layer/lengths.rs"]
mod lengths;
#[path = "../layer/limit.rs"]
mod limit;
mod relay;
#[path = "../layer/released.rs"]
mod released;
#[path = "../layer/replays.rs"]
mod replays;
#[path = "../layer/runs.rs"]
mod runs;
#[path = "../layer/trailers.rs"]
mod trailers;
#[path = "../layer/unrecorded.rs"]
mod unrecorded;
#[path = "../layer/uploads.rs"]
mod uploads;
