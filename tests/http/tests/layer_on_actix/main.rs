//! The laws of the layer that need no router of axum's, on actix-web: the files are those of `tests/layer`, and laws of what only
//! actix has. Not stamped: trailers, which actix does not send.

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
mod middlewares;
mod relay;
#[path = "../layer/released.rs"]
mod released;
#[path = "../layer/replays.rs"]
mod replays;
#[path = "../layer/runs.rs"]
mod runs;
mod services;
#[path = "../layer/unrecorded.rs"]
mod unrecorded;
#[path = "../layer/uploads.rs"]
mod uploads;
