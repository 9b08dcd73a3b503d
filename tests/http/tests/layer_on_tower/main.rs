//! The laws of the layer that need no router, on hyper without axum: the files are those of `tests/layer`.

#[path = "../layer/bodies.rs"]
mod bodies;
#[path = "../layer/compared.rs"]
mod compared;
#[path = "../layer/limit.rs"]
mod limit;
mod relay;
#[path = "../layer/released.rs"]
mod released;
#[path = "../layer/replays.rs"]
mod replays;
#[path = "../layer/uploads.rs"]
mod uploads;
