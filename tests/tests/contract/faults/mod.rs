//! Tables that are not fit to arbitrate: each is refused before anything runs.

mod postgres;
mod sqlite;
